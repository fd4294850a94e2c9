"""An encoder survives saving, and stock transformers opens what claims to be portable."""

import subprocess
import sys

import numpy as np
import pytest
from tiny import FAMILIES, sentences
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from strategies.layer_drop import LayerDrop
from workbench.encoder import Encoder
from workbench.errors import ArtifactError
from workbench.lineage import MANIFEST
from workbench.tasks.task import Row
from workbench.tokens import tokenize

ROWS = [Row(str(index), (text,), 0) for index, (text, _) in enumerate(sentences(9, 8))]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_encoder_answers_as_before(family, tiny_encoder, tmp_path):
    encoder = tiny_encoder(family)
    encoder.save(tmp_path)
    again = Encoder.load(tmp_path)
    tokens = tokenize(encoder.tokenizer, ROWS)
    np.testing.assert_array_equal(encoder.logits(tokens), again.logits(tokenize(again.tokenizer, ROWS)))
    assert again.lineage == encoder.lineage


@pytest.mark.parametrize("family", FAMILIES)
def test_stock_transformers_opens_a_layer_dropped_artifact_with_equal_logits(
    family, tiny_encoder, make_bench, tmp_path
):
    encoder = tiny_encoder(family)
    dropped = LayerDrop(keep=(0, 2)).apply(encoder, make_bench(encoder))
    dropped.save(tmp_path)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    batch = AutoTokenizer.from_pretrained(tmp_path)([ROWS[0].texts[0]], return_tensors="pt")
    theirs = model(**batch).logits.detach().numpy()
    ours = dropped.logits(tokenize(dropped.tokenizer, ROWS[:1]))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_order_of_answers_is_the_order_of_rows_whatever_their_lengths(tiny_encoder):
    encoder = tiny_encoder("bert")
    together = encoder.logits(tokenize(encoder.tokenizer, ROWS))
    alone = [encoder.logits(tokenize(encoder.tokenizer, [row]))[0] for row in ROWS]
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_the_saved_files_do_not_depend_on_what_was_asked_before(tiny_encoder, tmp_path):
    encoder = tiny_encoder("bert")
    (tmp_path / "fresh").mkdir()
    (tmp_path / "used").mkdir()
    fresh = encoder.save(tmp_path / "fresh")
    encoder.tokenizer(["a film"], truncation=True, padding="max_length", max_length=9)
    assert encoder.save(tmp_path / "used").files == fresh.files


def test_an_altered_weight_file_is_refused(tiny_encoder, tmp_path):
    tiny_encoder("bert").save(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\x00\x01\x02\x03")
    with pytest.raises(ArtifactError, match="not what was saved"):
        Encoder.load(tmp_path)


def test_a_missing_file_is_named(tiny_encoder, tmp_path):
    tiny_encoder("bert").save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ArtifactError, match=r"tokenizer\.json is missing"):
        Encoder.load(tmp_path)


def test_a_folder_without_manifest_is_no_artifact(tmp_path):
    with pytest.raises(ArtifactError, match=MANIFEST):
        Encoder.load(tmp_path)


def test_an_artifact_reloads_in_another_process(tiny_encoder, tmp_path):
    encoder = tiny_encoder("bert")
    encoder.save(tmp_path)
    code = (
        "import sys; from pathlib import Path; from workbench.encoder import Encoder;"
        "from workbench.tokens import tokenize; from workbench.tasks.task import Row;"
        "e = Encoder.load(Path(sys.argv[1]));"
        "print(*e.logits(tokenize(e.tokenizer, [Row('0', (sys.argv[2],), 0)]))[0])"
    )
    command = [sys.executable, "-c", code, str(tmp_path), ROWS[0].texts[0]]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    here = encoder.logits(tokenize(encoder.tokenizer, ROWS[:1]))[0]
    np.testing.assert_allclose([float(word) for word in told.split()], here, rtol=1e-5)
