"""What stands in a YAML file is read with its line; every complaint names file, line and the nearest known key."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import StudyError
from workbench.yaml_file import Origin, explain, parse_model, read_yaml


class Leaf(BaseModel):
    model_config = ConfigDict(extra="forbid")

    colour: str = "green"
    size: int = Field(default=1, ge=1)


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")

    height: float
    leaves: tuple[str | Leaf, ...] = Field(default=(), min_length=1)
    root: Leaf = Leaf()


def written(folder: Path, text: str) -> Path:
    path = folder / "tree.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(folder: Path, text: str) -> list[str]:
    """What is said of a file, line by line, with its path cut down to its name."""
    path = written(folder, text)
    with pytest.raises(StudyError) as caught:
        parse_model(Tree, *read_yaml(path), what="a tree")
    return str(caught.value).replace(str(path), path.name).splitlines()


def test_every_place_knows_its_line(tmp_path):
    value, origin = read_yaml(written(tmp_path, "height: 3\n\nleaves:\n  - oak\n  - colour: red\n    size: 2\n"))
    assert value == {"height": 3, "leaves": ["oak", {"colour": "red", "size": 2}]}
    file = tmp_path / "tree.yaml"
    assert origin.at("height") == f"{file}:1: "
    assert origin.at("leaves", 0) == f"{file}:4: "
    assert origin.at("leaves", 1, "size") == f"{file}:6: "
    assert origin.below("leaves", 1).at("colour") == f"{file}:5: "


def test_a_place_that_is_not_in_the_file_has_the_line_of_its_nearest_parent(tmp_path):
    _, origin = read_yaml(written(tmp_path, "height: 3\nroot:\n  size: 2\n"))
    assert origin.at("root", "weight", "unit") == f"{tmp_path / 'tree.yaml'}:2: "


def test_values_that_come_from_no_file_have_no_place():
    assert Origin().at("height") == ""


def test_an_unknown_key_names_file_line_and_the_nearest_known_key(tmp_path):
    assert complaint(tmp_path, "height: 3\nroots: {}\n") == [
        "tree.yaml:2: unknown key 'roots'; did you mean 'root'? known: height, leaves, root"
    ]


def test_an_unknown_key_further_in_lists_the_keys_known_there(tmp_path):
    assert complaint(tmp_path, "height: 3\nroot:\n  size: 1\n  color: red\n") == [
        "tree.yaml:4: unknown key 'color'; did you mean 'colour'? known: colour, size"
    ]


@pytest.mark.parametrize("key", ["Height", "Root", "str", "leaves[0]"])
def test_an_unknown_key_is_named_however_it_is_spelled(key, tmp_path):
    (said,) = complaint(tmp_path, f"height: 3\n{key}: 4\n")
    assert said.startswith(f"tree.yaml:2: unknown key {key!r}; ")


def test_an_unknown_key_in_a_list_of_alternatives_is_the_only_complaint(tmp_path):
    assert complaint(tmp_path, "height: 3\nleaves:\n  - oak\n  - color: red\n") == [
        "tree.yaml:4: unknown key 'color'; did you mean 'colour'? known: colour, size"
    ]


def test_a_key_that_is_no_text_is_named_with_its_line(tmp_path):
    (said,) = complaint(tmp_path, "height: 3\n7: 4\n")
    assert said.startswith("tree.yaml:2: 7: ")


def test_a_repeated_key_names_its_second_line(tmp_path):
    assert complaint(tmp_path, "height: 3\nroot:\n  size: 1\n  size: 2\n") == [
        "tree.yaml:4: key 'size' stands twice; keep one"
    ]


def test_a_missing_key_is_named_by_its_path(tmp_path):
    assert complaint(tmp_path, "root: {size: 2}\n") == ["tree.yaml:1: height is missing"]


def test_a_value_of_the_wrong_type_is_shown(tmp_path):
    (said,) = complaint(tmp_path, "height: 3\nroot:\n  size: many\n")
    assert said.startswith("tree.yaml:3: root.size: ")
    assert said.endswith("(given: 'many')")


def test_several_faults_are_told_at_once_each_with_its_line(tmp_path):
    said = complaint(tmp_path, "height: tall\nroot:\n  size: 0\n")
    assert [line.partition(" ")[0] for line in said] == ["tree.yaml:1:", "tree.yaml:3:"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("height: [1\nleaves: 2\n", 2),
        ("height: 1\n\tleaves: 2\n", 2),
        ("height: 'open\n", 2),
        ("height: 1\n---\nheight: 2\n", 2),
        ("height: *nobody\n", 1),
        ("height: !!python/object:os.system 1\n", 1),
        ("? [a, b]\n: 1\n", 1),
    ],
)
def test_what_is_not_plain_yaml_names_its_line(text, line, tmp_path):
    (said,) = complaint(tmp_path, text)
    assert said.startswith(f"tree.yaml:{line}: not valid YAML: ")


@pytest.mark.parametrize("value", ["2024-02-30", "!!int many", "!!float tall", "!!timestamp noon"])
def test_a_value_that_yaml_itself_cannot_read_names_its_line(value, tmp_path):
    (said,) = complaint(tmp_path, f"root: {{}}\nheight: {value}\n")
    assert said.startswith("tree.yaml:2: ")


def test_a_value_that_contains_itself_is_refused(tmp_path):
    said = complaint(tmp_path, "height: 1\nleaves: &all [*all]\n")
    assert said[0].startswith("tree.yaml:2: ")


def test_a_control_character_is_refused_in_one_line(tmp_path):
    (said,) = complaint(tmp_path, "height: \x07\n")
    assert said.startswith("tree.yaml")
    assert "not valid YAML" in said


@pytest.mark.parametrize(
    ("text", "sort"), [("", "NoneType"), ("# only a comment\n", "NoneType"), ("- 1\n", "list"), ("3\n", "int")]
)
def test_a_file_that_holds_no_mapping_says_what_it_holds(text, sort, tmp_path):
    (said,) = complaint(tmp_path, text)
    assert said.endswith(f"a tree must be a mapping of keys to values, not {sort}")
    assert said.startswith("tree.yaml:")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"never\.yaml: no such file$"):
        read_yaml(tmp_path / "never.yaml")


def test_a_folder_is_no_file_to_read(tmp_path):
    with pytest.raises(StudyError, match="cannot be read as text"):
        read_yaml(tmp_path)


def test_bytes_that_are_no_utf8_are_refused(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: café\n".encode("latin-1"))
    with pytest.raises(StudyError, match=r"latin\.yaml: cannot be read as text"):
        read_yaml(path)


def test_faults_of_values_without_a_file_are_told_without_a_place():
    with pytest.raises(ValidationError) as caught:
        Tree.model_validate({"height": 1, "root": {"size": 0, "x": 1}})
    assert explain(caught.value, Tree, Origin(), word="option") == [
        "root.size: Input should be greater than or equal to 1 (given: 0)",
        "unknown option 'x'; known: colour, size",
    ]
