"""The embedded library as its users get it: installed, found by CMake and by pkg-config."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("LYCOSA_BUILD", "")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "embedded"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=100,
                          **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@unittest.skipUnless(BUILD, "LYCOSA_BUILD is not set")
class Embedded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="lycosa-embedded-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, True)
        cls.prefix = cls.dir / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.lib = next(cls.prefix.rglob("liblycosa.so")).parent

    def check(self, program, *args):
        out = run(program, *args, env={**os.environ, "LD_LIBRARY_PATH": str(self.lib)})
        lines = out.splitlines()
        for line in ("tick 1", "tick 2", "tick 3", "hello, world",
                     "flaky failed: no luck today"):
            self.assertIn(line, lines, out)
        self.assertIn("morning report (trigger: ", out)
        self.assertEqual(lines[-1], "done", out)

    def test_cmake_finds_it_and_the_store_is_there_the_second_time(self):
        build = self.dir / "build"
        run("cmake", "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Debug")
        run("cmake", "--build", build)
        self.check(build / "embedded")
        data = self.dir / "data"
        self.check(build / "embedded", data)
        self.check(build / "embedded", data)
        self.assertTrue((data / "catalog").exists())

    def test_pkg_config_finds_it(self):
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "lycosa", env=env).split()
        program = self.dir / "embedded"
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            EXAMPLE / "main.cpp", *flags, "-o", program)
        self.check(program)

    def test_everything_else_is_installed_too(self):
        self.assertIn("lycosa", run(self.prefix / "bin" / "lycosa", "--version"))
        for name in ("share/man/man1/lycosa.1", "etc/lycosa/lycosa.toml",
                     "include/lycosa/scheduler.hpp"):
            self.assertTrue((self.prefix / name).is_file(), name)

    def test_only_the_public_interface_is_shown(self):
        shown = run("nm", "-D", "-C", "--defined-only", self.lib / "liblycosa.so")
        self.assertIn("lycosa::scheduler::start()", shown)
        for inner in ("lycosa::actors::", "lycosa::storage::", "lycosa::jobs::engine::",
                      "lycosa::scheduler::impl::",
                      " T caf::", " T mdb_"):
            self.assertNotIn(" T " + inner.removeprefix(" T "), shown)


if __name__ == "__main__":
    unittest.main()
