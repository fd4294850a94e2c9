"""The last layer for the classification token alone: the same answers with less arithmetic.

Heads for classification read the first token of the last layer and nothing else. The other tokens of that layer serve
as keys and values only, so their queries, their attention, its output and their feed-forward need not be computed. On
texts of usual length that is about five sixths of one layer's arithmetic.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, layer_groups, layers_of, part
from workbench.sketch import CLS_ONLY, GRAPH
from workbench.strategy import Strategy

Tensor = torch.Tensor


class FirstTokenLayer(nn.Module):
    """A layer of BERT or RoBERTa that gives the first token alone; its parts and their names are the layer's own."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.attention = layer.attention
        self.intermediate = layer.intermediate
        self.output = layer.output

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        head_mask: Tensor | None = None,
        *others: Any,
        output_attentions: bool = False,
        **more: Any,
    ) -> tuple[Any, ...]:
        """Let the first token ask all of them, as a decoder's token asks those of an encoder."""
        attended, *weights = self.attention(
            hidden_states[:, :1],
            attention_mask=_first_row(attention_mask),
            head_mask=head_mask,
            encoder_hidden_states=hidden_states,
            output_attentions=output_attentions,
        )
        return self.output(self.intermediate(attended), attended), *weights


class FirstTokenBlock(nn.Module):
    """A layer of DistilBERT that gives the first token alone; its parts and their names are the layer's own."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.attention = layer.attention
        self.sa_layer_norm = layer.sa_layer_norm
        self.ffn = layer.ffn
        self.output_layer_norm = layer.output_layer_norm

    def forward(
        self,
        x: Tensor,
        attn_mask: Tensor | None = None,
        head_mask: Tensor | None = None,
        output_attentions: bool = False,
    ) -> tuple[Any, ...]:
        """Let the first token ask all of them."""
        first, mask = x[:, :1], _first_row(attn_mask)
        gathered, *weights = self.attention(first, x, x, mask, head_mask, output_attentions)
        attended = self.sa_layer_norm(gathered + first)
        return *weights, self.output_layer_norm(self.ffn(attended) + attended)


class FirstTokenTurns(nn.Module):
    """ALBERT's encoder, whose layers take many turns, with a last turn that gives the first token alone.

    Its parts and their names are the encoder's own, so there is still one set of weights for all turns of a layer.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.config = encoder.config
        self.embedding_hidden_mapping_in = encoder.embedding_hidden_mapping_in
        self.albert_layer_groups = encoder.albert_layer_groups

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        head_mask: Any = None,
        output_attentions: bool = False,
        output_hidden_states: bool = False,
        return_dict: bool = True,
    ) -> Any:
        """Take all turns; among the hidden states, if they are asked for, the last holds one token."""
        from transformers.modeling_outputs import BaseModelOutput

        if output_attentions or (head_mask is not None and any(mask is not None for mask in head_mask)):
            raise ValueError("an ALBERT that is cls-only takes no head_mask and gives no attentions")
        *earlier, last = [self.albert_layer_groups[index] for index in layer_groups(self.config)]
        states = [self.embedding_hidden_mapping_in(hidden_states)]
        for group in earlier:
            states.append(group(states[-1], attention_mask, [None] * len(group.albert_layers))[0])
        states.append(_last_turn(last, states[-1], attention_mask))
        shown = tuple(states) if output_hidden_states else None
        output = BaseModelOutput(last_hidden_state=states[-1], hidden_states=shown)
        return output if return_dict else output.to_tuple()


@dataclass(frozen=True)
class Stock:
    """A family's classes: of what is replaced and by what, and of the parts that see to it that one token is read.

    The latter are given by their paths in the model, which is itself the part without a path.
    """

    replaced: str
    by: Callable[[Any], nn.Module]
    readers: dict[str, str]


STOCK = {
    "bert": Stock("BertLayer", FirstTokenLayer, {"": "BertForSequenceClassification", "bert.pooler": "BertPooler"}),
    "roberta": Stock(
        "RobertaLayer",
        FirstTokenLayer,
        {"": "RobertaForSequenceClassification", "classifier": "RobertaClassificationHead"},
    ),
    "albert": Stock(
        "AlbertTransformer", FirstTokenTurns, {"": "AlbertForSequenceClassification", "albert": "AlbertModel"}
    ),
    "distilbert": Stock("TransformerBlock", FirstTokenBlock, {"": "DistilBertForSequenceClassification"}),
}


class LastLayerClsOnly(Strategy):
    """Compute the last layer for the classification token alone; the answers stay as they are.

    The weights keep their names and values, so where no other step prevents it, stock transformers opens the saved
    encoder too and answers alike, but computes everything again; that is why the result is not called portable. Graphs
    made of it keep the saving, and so does training after it. Hidden states of other tokens are gone after the last
    layer, so steps that look at them or rearrange layers come before it.
    """

    name = "last-layer-cls-only"
    claims = ("fewer-macs",)
    gives = (CLS_ONLY,)
    refuses = (GRAPH, CLS_ONLY)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Let the first token alone go through the last layer of a copy of the model."""
        check_first_token_is_read(encoder.model)
        return encoder.evolve(first_token_only(encoder.model), by=self)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Do the same to an untrained model."""
        return first_token_only(model)


def check_first_token_is_read(model: Any) -> None:
    """Refuse a model whose head may read other tokens than the first, or whose last layer is not the family's own."""
    stock = STOCK[family_of(model.config).name]
    for path, wanted in {**stock.readers, _place(model): stock.replaced}.items():
        found = type(part(model, path))
        if found.__name__ != wanted or not found.__module__.startswith("transformers."):
            raise PlanError(
                f"{found.__name__} is not {wanted} of transformers, so it is not known that the first token of the "
                "last layer alone is read; leave this step out"
            )
    if getattr(model.config, "is_decoder", False):
        raise PlanError("the encoder is set up as a decoder, whose first token sees no other; leave this step out")
    if family_of(model.config).shares_layers and model.config.position_embedding_type != "absolute":
        raise PlanError("this ALBERT has relative positions, which this step cannot handle; leave it out")


def first_token_only(model: Any) -> Any:
    """A copy of a model whose last layer, or ALBERT's last turn, gives the first token alone."""
    changed = copy.deepcopy(model)
    place = _place(changed)
    holder, _, name = place.rpartition(".")
    setattr(part(changed, holder), name, STOCK[family_of(model.config).name].by(part(changed, place)))
    return changed


def _place(model: Any) -> str:
    """The path of what is replaced: the last layer, or where layers take many turns, the encoder around them."""
    family = family_of(model.config)
    return family.layers.rpartition(".")[0] if family.shares_layers else f"{family.layers}.{len(layers_of(model)) - 1}"


def _last_turn(group: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
    *lower, top = group.albert_layers
    for layer in lower:
        hidden = layer(hidden, mask)[0]
    return _first_token(top, hidden, mask)


def _first_token(layer: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
    """What a layer of ALBERT gives for the first token, with the number of heads that the layer itself has."""
    attention, first = layer.attention, hidden[:, :1]

    def by_head(vectors: Tensor) -> Tensor:
        shape = (hidden.shape[0], -1, attention.num_attention_heads, attention.attention_head_size)
        return vectors.view(shape).transpose(1, 2)

    gathered = functional.scaled_dot_product_attention(
        by_head(attention.query(first)),
        by_head(attention.key(hidden)),
        by_head(attention.value(hidden)),
        attn_mask=_first_row(mask),
        dropout_p=attention.attention_dropout.p if attention.training else 0.0,
    )
    given = attention.output_dropout(attention.dense(gathered.transpose(1, 2).flatten(2)))
    attended = attention.LayerNorm(first + given)
    return layer.full_layer_layer_norm(layer.ff_chunk(attended) + attended)  # type: ignore[no-any-return]


def _first_row(mask: Tensor | None) -> Tensor | None:
    """The row of a mask that belongs to the first token; a mask of two dimensions has one for all tokens."""
    return mask[:, :, :1] if mask is not None and mask.dim() == 4 else mask
