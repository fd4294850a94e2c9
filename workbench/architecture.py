"""Architecture: the sizes of a BERT-family encoder, without any weights."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

Family = Literal["bert", "roberta", "albert", "distilbert"]
Half = Literal["attention", "ffn"]
HALVES: tuple[Half, ...] = get_args(Half)
# RoBERTa numbers positions from the padding index on, so two rows of its table are never reached.
RESERVED_POSITIONS: dict[Family, int] = {"roberta": 2}


class Architecture(BaseModel):
    """What decides how many parameters an encoder has and how much arithmetic it takes.

    ``pooler`` is the square map from the first token to the classifier; RoBERTa and DistilBERT keep theirs in the
    head. Without ``labels`` there is no classifier. ``embedding_rank`` is ALBERT's ``embedding_size``, where positions
    and types are as narrow as words; in the other families it is the rank of a factorized word table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: Family = "bert"
    vocabulary: PositiveInt
    hidden: PositiveInt
    layers: PositiveInt
    heads: PositiveInt
    ffn: PositiveInt
    positions: PositiveInt = Field(default=512, description="rows of the position table")
    token_types: NonNegativeInt = Field(default=2, description="rows of the type table; DistilBERT has none")
    embedding_rank: PositiveInt | None = Field(default=None, description="width of a narrow word table; full if absent")
    sharing_groups: Annotated[PositiveInt | None, BeforeValidator(lambda groups: groups or None)] = Field(
        default=None, description="how many sets of weights the layers wear; each its own if absent or 0"
    )
    share: Literal["all", "attention", "ffn"] = Field(default="all", description="which half of a layer is shared")
    untie: bool = Field(default=False, description="leave norms and biases to each layer, whatever is shared")
    pooler: bool = True
    labels: PositiveInt | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.hidden % self.heads:
            raise ValueError(f"heads: {self.heads} heads do not divide a width of {self.hidden} evenly")
        if self.sharing_groups and self.sharing_groups > self.layers:
            raise ValueError(
                f"sharing_groups: {self.layers} layers cannot wear {self.sharing_groups} sets of weights; "
                f"give at most {self.layers}"
            )
        if self.embedding_rank and self.embedding_rank > self.hidden:
            raise ValueError(
                f"embedding_rank: {self.embedding_rank} is wider than the encoder; give at most {self.hidden}"
            )
        return self

    @model_validator(mode="after")
    def _fits_its_family(self) -> Self:
        if self.family == "distilbert" and self.token_types:
            raise ValueError("token_types: DistilBERT has no types; give 0")
        if self.family != "distilbert" and not self.token_types:
            raise ValueError(f"token_types: {self.family} looks a type up for every token; give at least 1")
        if self.family == "albert" and (self.share != "all" or self.untie):
            raise ValueError("share, untie: ALBERT shares whole layers, norms and biases included; leave both out")
        if self.longest < 1:
            raise ValueError(f"positions: {self.family} never reaches the first {self._reserved}; give more than those")
        return self

    def changed(self, **changes: Any) -> Self:
        """The same architecture with other sizes, checked anew."""
        return type(self).model_validate({**self.model_dump(), **changes})

    def under_head(self, labels: int) -> Self:
        """The encoder with a classifier on it, and the square map that every family puts before one."""
        return self.changed(pooler=True, labels=labels)

    @property
    def _reserved(self) -> int:
        return RESERVED_POSITIONS.get(self.family, 0)

    @property
    def longest(self) -> int:
        """How many tokens a text may have."""
        return self.positions - self._reserved

    @property
    def word_width(self) -> int:
        """How many numbers a word is looked up in."""
        return self.embedding_rank or self.hidden

    @property
    def sum_width(self) -> int:
        """How wide words, positions and types are when they are added up: in ALBERT before the map, else after."""
        return self.word_width if self.family == "albert" else self.hidden

    @property
    def widens(self) -> bool:
        """Whether a map leads from the word table to the encoder; ALBERT has one even from a full table."""
        return self.family == "albert" or self.embedding_rank is not None

    def matrix_sets(self, half: Half) -> int:
        """How many different sets of matrices one half of all layers has."""
        return self.sharing_groups if self.sharing_groups and self.share in ("all", half) else self.layers

    def vector_sets(self, half: Half) -> int:
        """How many different sets of biases and norms one half of all layers has."""
        return self.layers if self.untie else self.matrix_sets(half)

    def worn_by(self, layer: int, half: Half) -> int:
        """Which set of matrices a layer wears, both counted from 0; neighbours share."""
        return layer * self.matrix_sets(half) // self.layers
