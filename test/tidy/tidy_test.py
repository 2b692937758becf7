#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py catches a file that breaks each rule, and nothing in a file that breaks none."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.tidy import cpp, tidy

LISTS = """# SPDX-License-Identifier: Apache-2.0
# layer 0
stoker_room(base)
# layer 1
stoker_room(spec USES base LIBS yaml-cpp)
stoker_room(job USES base)
# layer 3
stoker_room(ledger USES base job)
# layer 4
stoker_room(sys USES base)
"""
HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
BASED = HEAD + '#include "base/a.h"\n'


class TidyTest(unittest.TestCase):
    def breaches(self, files):
        """The (file, line, rule) that tidy reports for a tree of `files` on a sound base."""
        with tempfile.TemporaryDirectory() as root:
            tree = {"CMakeLists.txt": LISTS, "src/base/good.h": HEAD + "int Good();\n", **files}
            for name, text in tree.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
            found, _ = tidy.check_tree(root)
            return [(name, line, rule) for name, line, rule, _ in found]

    def one(self, name, text, line, rule):
        self.assertEqual(self.breaches({name: text}), [(name, line, rule)])

    def test_a_sound_tree_passes(self):
        self.assertEqual(self.breaches({}), [])

    def test_licence(self):
        self.one("src/base/x.h", "int a;\n", 1, "licence")
        self.one("test/x.sh", "#!/bin/sh\n\n", 1, "licence")
        self.assertEqual(self.breaches({"test/x.sh": "#!/bin/sh\n# " + tidy.SPDX + "\n"}), [])

    def test_columns_count_characters(self):
        self.assertEqual(self.breaches({"src/base/x.h": HEAD + "// " + "ü" * 97 + "\n"}), [])
        self.one("src/base/x.h", HEAD + "// " + "x" * 98 + "\n", 2, "columns")

    def test_python_is_as_wide_as_ruff_makes_it(self):
        head = "# " + tidy.SPDX + "\n"
        self.assertEqual(self.breaches({"test/x.py": head + "#" * 140 + "\n"}), [])
        self.one("test/x.py", head + "#" * 141 + "\n", 2, "columns")

    def test_file_length(self):
        self.one("src/base/x.cc", HEAD + "\n" * 600, 601, "file length")
        self.assertEqual(self.breaches({"src/base/x_test.cc": HEAD + "\n" * 700}), [])
        self.one("src/base/x_test.cc", HEAD + "\n" * 800, 801, "file length")

    def test_function_length(self):
        fits = "int F() {\n" + "  g();\n" * 68 + "}\n"
        long = "int F() {\n" + "  g();\n" * 69 + "}\n"
        self.assertEqual(self.breaches({"src/base/x.cc": HEAD + fits}), [])
        self.one("src/base/x.cc", HEAD + long, 2, "function length")
        inside = "namespace a {\nclass B {\n public:\n" + long + "};\n}\n"
        self.one("src/base/x.cc", HEAD + inside, 5, "function length")

    def test_functions_of_every_shape_are_seen(self):
        body = " {\n" + "  g();\n" * 3 + "}\n"
        for head in (
            "Foo::Foo(int a) : a_(a), b_{a}",
            "auto F() -> std::vector<int>",
            "struct stat F(int a)",
            "bool operator==(const A&) const noexcept",
            "template <class T>\nT F(T a)",
            "TEST(A, B)",
            "Foo::~Foo()",
            'std::string F(const std::string& s = "{")',
        ):
            found = list(cpp.functions(cpp.blank(head + body)))
            self.assertEqual([length for _, length in found if length > 1], [5], head)

    def test_data_is_no_function(self):
        text = "constexpr int kA[] = {\n1,\n2,\n};\nstruct S {\nint a;\n};\n"
        text += "enum class E {\nkA,\n};\n"
        self.assertEqual(list(cpp.functions(text)), [])

    def test_higher_layer(self):
        self.one("src/job/x.cc", BASED + '#include "ledger/a.h"\n', 3, "layer")

    def test_same_layer_only_by_uses(self):
        self.one("src/spec/x.cc", BASED + '#include "job/a.h"\n', 3, "layer")
        self.assertEqual(self.breaches({"src/ledger/x.cc": BASED + '#include "job/a.h"\n'}), [])

    def test_a_room_within_a_room(self):
        lists = LISTS + "stoker_room(sys/task USES base sys)\n"
        uses = BASED + '#include "sys/a.h"\n'
        both = {"CMakeLists.txt": lists, "src/sys/task/x.cc": uses}
        self.assertEqual(self.breaches(both), [])
        both["src/sys/y.cc"] = BASED + '#include "sys/task/a.h"\n'
        self.assertEqual(self.breaches(both), [("src/sys/y.cc", 3, "layer")])

    def test_a_room_that_is_named_and_not_used(self):
        files = {"src/ledger/x.cc": BASED}
        self.assertEqual(self.breaches(files), [("CMakeLists.txt", 8, "layer")])

    def test_a_full_folder(self):
        files = {f"src/base/x{i}.h": HEAD for i in range(40)}
        self.assertEqual(self.breaches(files), [("src/base", 1, "folder")])

    def test_the_page_has_every_room(self):
        page = "Rooms: " + " ".join(f"{room}/" for room in ("base", "spec", "job", "ledger"))
        files = {"docs/architecture.md": page}
        self.assertEqual(self.breaches(files), [("docs/architecture.md", 1, "room")])
        files = {"docs/architecture.md": page + " sys/ `base/good.h`"}
        self.assertEqual(self.breaches(files), [])
        files = {"docs/architecture.md": page + " sys/\n`base/gone.h`"}
        self.assertEqual(self.breaches(files), [("docs/architecture.md", 2, "room")])

    def test_each_folder_of_tests_is_on_their_page(self):
        code = "// SPDX-License-Identifier: Apache-2.0\n"
        files = {"docs/tests.md": "`test/logs/`", "test/logs/a_test.cc": code}
        self.assertEqual(self.breaches(files), [])
        files["test/torn/a_test.cc"] = code
        self.assertEqual(self.breaches(files), [("docs/tests.md", 1, "room")])

    def test_what_passed_is_tried_again_once_it_or_the_rooms_change(self):
        def tree(root, text, lists=LISTS):
            for name, content in {"CMakeLists.txt": lists, "src/job/x.cc": text}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as out:
                    out.write(content)

        sound = BASED + "int x;\n"
        clock = BASED + 'void F() { getenv("A"); }\n'
        job = "stoker_room(job USES base)\n"
        below = LISTS.replace(job, "").replace("USES base job", "USES base") + job
        with tempfile.TemporaryDirectory() as root:
            passed = os.path.join(root, "build", "passed")
            tree(root, sound)
            for _ in range(2):
                self.assertEqual(tidy.check_tree(root, passed)[0], [])
            tree(root, clock)
            for _ in range(2):  # what did not pass is not taken for what did
                self.assertEqual(len(tidy.check_tree(root, passed)[0]), 1)
            tree(root, clock, below)  # in layer 4 that is allowed
            self.assertEqual(tidy.check_tree(root, passed)[0], [])
            tree(root, clock)
            self.assertEqual(len(tidy.check_tree(root, passed)[0]), 1)

    def test_a_slow_case_that_is_not_there(self):
        tree = {"src/base/a_test.cc": HEAD + "TEST_F(Alpha,\n       One) {\n}\n", "test/slow_cases.txt": "Alpha.One\nAlpha.Two\n"}
        self.assertEqual(self.breaches(tree), [("test/slow_cases.txt", 2, "slow case")])

    def test_include_without_a_room(self):
        self.one("src/job/x.cc", BASED + '#include "a.h"\n', 3, "include")

    def test_simulator_sees_no_adapter(self):
        self.one("sim/x.cc", HEAD + '#include "sys/a.h"\n', 2, "layer")
        self.assertEqual(self.breaches({"sim/x.cc": HEAD + '#include "ledger/a.h"\n'}), [])

    def test_room_that_nobody_listed(self):
        self.one("src/new/x.cc", HEAD, 1, "layer")

    def test_lists_out_of_order(self):
        lists = LISTS.replace("(spec USES base", "(spec USES ledger base")
        self.assertEqual(self.breaches({"CMakeLists.txt": lists}), [("CMakeLists.txt", 5, "layer")])

    def test_clocks_settings_and_chance_below_layer_4(self):
        for call in (
            "time(nullptr)",
            "std::time(nullptr)",
            "::clock_gettime(CLOCK_REALTIME, &t)",
            "std::chrono::steady_clock::now()",
            'getenv("HOME")',
            'std::getenv("HOME")',
            "rand()",
            "return random()",
            "usleep(5)",
            "std::random_device{}()",
            "std::this_thread::sleep_for(x)",
        ):
            text = HEAD + f"int F() {{ {call}; }}\n"
            self.one("src/ledger/x.cc", text, 2, "banned call")
            self.assertEqual(self.breaches({"src/sys/x.cc": text}), [], call)
            self.assertEqual(self.breaches({"src/ledger/x_test.cc": text}), [], call)

    def test_path_of_the_source(self):
        self.one("src/job/x_test.cc", HEAD + "auto p = __FILE__;\n", 2, "path")

    def test_io_in_layers_0_and_1(self):
        for call in (
            "open(p, 0)",
            "::socket(1, 2, 3)",
            'fopen(p, "r")',
            "std::ifstream in(p)",
            "std::thread t(f)",
            "std::filesystem::path p",
            'printf("x")',
            "if (fork() < 0)",
        ):
            text = HEAD + f"int F() {{ {call}; }}\n"
            self.one("src/job/x.cc", text, 2, "banned call")
            self.assertEqual(self.breaches({"src/ledger/x.cc": text}), [], call)
        self.one("src/job/x.cc", HEAD + "#include <fstream>\n", 2, "banned call")

    def test_members_declarations_comments_and_strings_are_no_calls(self):
        for text in (
            "int F() { return door.open(1) + p->rand(); }",
            "Status open(int a);",
            "// time(nullptr) and open(x)",
            'auto s = "getenv(\\"A\\") open(x)";',
            "char c = '\"'; // fopen(",
            'auto r = R"(sleep(1) " )";',
            "int reopen(int);",
            "int n = 1'000'000; // rand()",
            "class Managed {};",
            "Utilisation u;",
        ):
            self.assertEqual(self.breaches({"src/job/x.h": HEAD + text + "\n"}), [], text)

    def test_names(self):
        for word in ("class JobManager {};", "struct PathHelper {};", "namespace StringUtil {}", "int FileUtils;"):
            self.one("src/base/x.h", HEAD + word + "\n", 2, "name")
        self.one("src/base/string_util.h", HEAD, 1, "name")

    def test_providers(self):
        for text in ("if (place == kEc2Provider) return;", "gce::Api api;", "SlurmTie tie;"):
            self.one("src/job/x.cc", HEAD + text + "\n", 2, "provider")
        self.one("src/job/x.cc", HEAD + 'bool b = name == "aws";\n', 2, "provider")
        self.one("src/job/x.cc", HEAD + 'bool b = name == "ssh";\n', 2, "provider")
        self.one("src/job/x.cc", HEAD + 'bool b = name == "local";\n', 2, "provider")
        for path, is_free in (("provider/local/local_turns.h", False), ("provider/local/local_private.h", True)):
            found = [rule for _, _, rule in self.breaches({"src/client/x.cc": f'{HEAD}#include "{path}"\n'})]
            self.assertEqual("provider" not in found, is_free, path)
        for free in ('// of "ec2"', 'Next("see aws/REGION");', "int laws, Awsome;"):
            self.assertEqual(self.breaches({"src/job/x.cc": HEAD + free + "\n"}), [], free)
        for room in ("src/provider/ec2/x.cc", "src/provider/registry.cc", "src/job/x_test.cc"):
            found = self.breaches({room: HEAD + "kEc2Provider;\n"})
            self.assertNotIn("provider", [rule for _, _, rule in found], room)
        for room in ("src/main.cc", "src/node/x.cc", "src/provider/open.cc", "src/provider/local/x.cc", "src/provider/cloud/x.cc"):
            self.assertIn((room, 2, "provider"), self.breaches({room: HEAD + "kEc2Provider;\n"}))

    def test_full_folders(self):
        def row(folder, count):
            return {f"{folder}/f{i}.txt": "" for i in range(count)}

        for folder in ("src/cli", "src/job", "sim", "sim/cloud", "test/e2e", "bench"):
            self.assertEqual(self.breaches(row(folder, 40)), [], folder)
            self.assertEqual(self.breaches(row(folder, 41)), [(folder, 1, "folder")])
            # What lies deeper is another folder's.
            self.assertEqual(self.breaches(row(folder, 40) | row(folder + "/b", 40)), [])
        # What nobody reads by name.
        for folder in ("test/fuzz/corpus/ini", "examples"):
            self.assertEqual(self.breaches(row(folder, 41)), [], folder)

    def test_links(self):
        self.assertEqual(
            self.breaches(
                {
                    "a.md": "# A b\n[x](docs/b.md#to-be) [y](#a-b) `[z](no)`\n",
                    "docs/b.md": "## To be\n[up](../a.md) [w](https://x.org)\n```\n[no](no.md)\n```\n",
                }
            ),
            [],
        )
        self.one("a.md", "# A\n\n[x](b.md)\n", 3, "link")
        self.one("a.md", "# A\n[x](#b)\n", 2, "link")
        self.one("a.md", "[x](../b.md)\n", 1, "link")


if __name__ == "__main__":
    unittest.main()
