"""The confusion chart has a cell for every label and answer."""

from reports.chart_confusion import MOST_NUMBERS, confusion_figure
from reports.figure import Figure


def cells_of(figure: Figure) -> list[dict]:
    spec = figure.spec()
    # Altair moves data that all layers share to the top.
    return (spec.get("data") or spec["layer"][0]["data"])["values"]


def test_every_cell_holds_its_rows_and_their_share_of_the_label():
    figure = confusion_figure("int8", ("bad", "good"), ((30, 10), (0, 60)))
    cells = cells_of(figure)
    assert [(cell["label"], cell["answer"], cell["count"], cell["share"]) for cell in cells] == [
        ("bad", "bad", 30, 0.75),
        ("bad", "good", 10, 0.25),
        ("good", "bad", 0, 0.0),
        ("good", "good", 60, 1.0),
    ]
    assert figure.alt == "Answers of int8 by true label; 90 of 100 are right."
    assert "<svg" in figure.svg()


def test_a_label_without_rows_has_no_share():
    cells = cells_of(confusion_figure("int8", ("bad", "good"), ((0, 0), (0, 6))))
    assert cells[0]["share"] == 0.0


def test_many_labels_are_drawn_without_numbers():
    labels = tuple(f"label {place}" for place in range(MOST_NUMBERS + 1))
    square = tuple(tuple(1 for _ in labels) for _ in labels)
    assert len(confusion_figure("int8", labels, square).spec()["layer"]) == 1
