"""The nine GLUE tasks are read from the classic folder layout, line by line as their authors wrote them."""

from pathlib import Path

import pytest
from real_glue import NO_GLUE, real_glue

from workbench.errors import DataError, NoSourceError
from workbench.metrics import check_metrics
from workbench.plugins import TASKS, load, names
from workbench.tasks.data import read_task
from workbench.tasks.sources import GLUE_DIR_VARIABLE, HubDataset
from workbench.tasks.task import Task

BOM = "\ufeff"
ROWS = 20

# Header line, then a line with its texts and label left open, as the classic download writes them.
LAYOUTS: dict[str, tuple[str, str, str]] = {
    "cola": ("CoLA", "", "gj04\t{label}\t*\t{a}"),
    "sst2": ("SST-2", "sentence\tlabel", "{a}\t{label}"),
    "mrpc": ("MRPC", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{label}\t702876\t702977\t{a}\t{b}"),
    "qqp": ("QQP", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "133273\t213221\t213222\t{a}\t{b}\t{label}"),
    "stsb": (
        "STS-B",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\t{a}\t{b}\t{label}",
    ),
    "mnli": (
        "MNLI",
        "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
        "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
        "0\t31193\t31193n\tgovernment\t( x )\t( y )\t(ROOT x)\t(ROOT y)\t{a}\t{b}\tneutral\t{label}",
    ),
    "qnli": ("QNLI", "index\tquestion\tsentence\tlabel", "0\t{a}\t{b}\t{label}"),
    "rte": ("RTE", "index\tsentence1\tsentence2\tlabel", "0\t{a}\t{b}\t{label}"),
    "wnli": ("WNLI", "index\tsentence1\tsentence2\tlabel", "0\t{a}\t{b}\t{label}"),
}
WRITTEN: dict[str, tuple[str, ...]] = {
    "stsb": ("0.000", "2.600", "5.000"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "qnli": ("entailment", "not_entailment"),
    "rte": ("entailment", "not_entailment"),
}
MEANT: dict[str, tuple[object, ...]] = {
    "cola": ("unacceptable", "acceptable"),
    "sst2": ("negative", "positive"),
    "mrpc": ("not_equivalent", "equivalent"),
    "qqp": ("not_duplicate", "duplicate"),
    "stsb": (0.0, 2.6, 5.0),
    "mnli": ("entailment", "neutral", "contradiction"),
    "qnli": ("entailment", "not_entailment"),
    "rte": ("entailment", "not_entailment"),
    "wnli": ("not_entailment", "entailment"),
}
METRICS = {
    "cola": ("matthews",),
    "mrpc": ("f1", "accuracy"),
    "qqp": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
}


def glue_task(name: str) -> Task:
    task = load(TASKS, name)
    assert isinstance(task, Task)
    return task


def lines_of(name: str, count: int = ROWS) -> list[str]:
    _, header, pattern = LAYOUTS[name]
    written = WRITTEN.get(name, ("0", "1"))
    rows = [pattern.format(a=f'a "{n}', b=f"b's {n} ", label=written[n % len(written)]) for n in range(count)]
    return [header, *rows] if header else rows


def write_task(root: Path, name: str) -> Path:
    folder = root / LAYOUTS[name][0]
    folder.mkdir(parents=True)
    tests = ("dev_matched.tsv", "dev_mismatched.tsv") if name == "mnli" else ("dev.tsv",)
    for file in ("train.tsv", *tests):
        (folder / file).write_text("\n".join(lines_of(name)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv(GLUE_DIR_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_task_reads_its_classic_files(name, root):
    write_task(root, name)
    task = glue_task(name)
    data = read_task(task)
    parts = ("matched", "mismatched") if name == "mnli" else ("test",)
    assert tuple(data.tests) == parts
    assert data.source == f"GLUE folder {root}"
    for part in parts:
        assert [row.id for row in data.tests[part]] == [f"{part}-{n}" for n in range(ROWS)]
        texts = [('a "3',), ('a "3', "b's 3 ")][task.text_count - 1]
        assert data.tests[part][3].texts == texts
        meant = [MEANT[name][n % len(MEANT[name])] for n in range(ROWS)]
        assert [task.labels[row.label] if task.labels else row.label for row in data.tests[part]] == meant
    assert len(data.train) + len(data.calibrate) + len(data.select) == ROWS


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_task_declares_its_official_metrics_and_a_pinned_hub_copy(name):
    task = glue_task(name)
    assert task.name == name
    assert task.metrics == METRICS.get(name, ("accuracy",))
    check_metrics(task)
    (hub,) = [source for source in task.sources if isinstance(source, HubDataset)]
    assert len(hub.revision) == 40
    assert hub.labels == task.labels
    assert set(hub.splits) == {"train", *task.tests}


def test_all_nine_are_advertised():
    assert set(LAYOUTS) <= set(names(TASKS))


@pytest.mark.parametrize("name", ["mrpc", "cola"])
def test_a_byte_order_mark_is_no_part_of_the_first_cell(name, root):
    folder = write_task(root, name)
    for path in folder.iterdir():
        path.write_text(BOM + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_task(glue_task(name)).counts()["test"] == ROWS


def test_windows_line_ends_are_no_part_of_the_last_cell(root):
    folder = write_task(root, "sst2")
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_task(glue_task("sst2")).counts()["test"] == ROWS


def test_odd_separators_inside_a_text_do_not_end_a_line(root):
    folder = write_task(root, "rte")
    lines = [*lines_of("rte"), "0\tone\u2028still one\x0band\x85on\ttwo\tentailment"]
    (folder / "dev.tsv").write_text("\n".join(lines), encoding="utf-8")
    assert read_task(glue_task("rte")).tests["test"][-1].texts == ("one\u2028still one\x0band\x85on", "two")


def test_qqp_leaves_truncated_lines_out_and_numbers_the_others_on(root):
    folder = write_task(root, "qqp")
    lines = lines_of("qqp")
    (folder / "dev.tsv").write_text("\n".join([*lines[:5], "133\t213\t214\tcut off", *lines[5:]]), encoding="utf-8")
    rows = read_task(glue_task("qqp")).tests["test"]
    assert len(rows) == ROWS
    assert rows[4].texts[0] == 'a "4'


def test_qqp_does_not_leave_out_lines_that_are_too_long(root):
    folder = write_task(root, "qqp")
    (folder / "dev.tsv").write_text("\n".join([*lines_of("qqp"), "1\t2\t3\ta\tb\t0\tmore"]), encoding="utf-8")
    with pytest.raises(DataError, match=r"dev\.tsv:22: 7 columns where 6 were expected"):
        read_task(glue_task("qqp"))


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - {"qqp"}))
def test_elsewhere_a_line_with_too_few_columns_is_an_error_with_its_line(name, root):
    folder = write_task(root, name)
    lines = lines_of(name)
    path = folder / ("dev_mismatched.tsv" if name == "mnli" else "dev.tsv")
    path.write_text("\n".join([*lines[:4], "cut off", *lines[4:]]), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{path.name}:5: 1 columns where \d+ were expected"):
        read_task(glue_task(name))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_label_outside_the_set_is_an_error_with_its_line(name, root):
    folder = write_task(root, name)
    lines = [*lines_of(name), LAYOUTS[name][2].format(a="a", b="b", label="-")]
    (folder / "train.tsv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=rf"train\.tsv:{len(lines)}: label '-' is not "):
        read_task(glue_task(name))


def test_another_header_names_the_missing_column_and_those_there_are(root):
    folder = write_task(root, "rte")
    (folder / "dev.tsv").write_text("index\tpremise\thypothesis\tlabel\n0\ta\tb\tentailment\n")
    with pytest.raises(DataError, match=r"dev\.tsv:1: no column 'sentence1'; the header has: index, premise, hypo"):
        read_task(glue_task("rte"))


@pytest.mark.parametrize(("name", "words"), [("sst2", r"dev\.tsv: the file is empty"), ("cola", "no rows for test")])
def test_an_empty_file_is_an_error(name, words, root):
    (write_task(root, name) / "dev.tsv").write_text("")
    with pytest.raises(DataError, match=words):
        read_task(glue_task(name))


def test_a_header_without_rows_is_an_error(root):
    (write_task(root, "sst2") / "dev.tsv").write_text("sentence\tlabel\n")
    with pytest.raises(DataError, match="no rows for test"):
        read_task(glue_task("sst2"))


def test_a_file_that_is_not_utf8_is_an_error_with_the_right_byte(root):
    folder = write_task(root, "sst2")
    good = "\n".join(lines_of("sst2", 3000)).encode() + b"\n"
    (folder / "dev.tsv").write_bytes(good + "café\t1\n".encode("latin-1"))
    with pytest.raises(DataError, match=rf"dev\.tsv: not UTF-8 text \(.* at byte {len(good) + 3}\); convert it first"):
        read_task(glue_task("sst2"))


def test_without_a_folder_and_without_the_hub_the_message_names_both_ways():
    with pytest.raises(NoSourceError) as caught:
        read_task(glue_task("cola"))
    first, folder, hub = str(caught.value).splitlines()
    assert first == "no source can serve task 'cola'; tried:"
    assert "no GLUE folder given (--glue-dir DIR or WORKBENCH_GLUE_DIR=DIR)" in folder
    assert hub.startswith(
        "  - hub data set nyu-mll/glue/cola at bcdcba79: the hub cannot be reached and its cache has no"
    )


def test_a_folder_with_only_one_of_two_files_cannot_serve(root):
    folder = write_task(root, "mnli")
    (folder / "dev_mismatched.tsv").unlink()
    with pytest.raises(NoSourceError, match=r"dev_mismatched\.tsv does not exist"):
        read_task(glue_task("mnli"))


@pytest.mark.skipif(real_glue() is None, reason=NO_GLUE)
@pytest.mark.parametrize(
    ("name", "folder", "train", "dev"),
    [
        ("sst2", "SST-2", 67_349, 872),
        ("mrpc", "MRPC", 3_668, 408),
        ("rte", "RTE", 2_490, 277),
        ("stsb", "STS-B", 5_749, 1_500),
    ],
)
def test_the_real_files_have_their_official_numbers_of_rows(name, folder, train, dev, monkeypatch):
    root = real_glue()
    assert root is not None
    if not (root / folder / "dev.tsv").is_file():
        pytest.skip(f"{root} holds no {folder}")
    monkeypatch.setenv(GLUE_DIR_VARIABLE, str(root))
    data = read_task(glue_task(name))
    counts = data.counts()
    assert counts["train"] + counts["calibrate"] + counts["select"] == train
    assert counts["test"] == dev
    everything = data.train + data.calibrate + data.select + data.tests["test"]
    assert all(text.strip() for row in everything for text in row.texts)
    if data.task.labels:
        assert {row.label for row in everything} == set(range(len(data.task.labels)))
    else:
        assert all(0 <= row.label <= 5 for row in everything)
