"""Machine code from LLVM's intermediate representation, for this process.

Numba makes better code of more, but takes a second to load. What is small is emitted by hand.
"""

from __future__ import annotations

from llvmlite import binding, ir


def allow_assembly() -> None:
    """Let LLVM take assembly in this process, such as that of the module ``floating``."""
    binding.initialize_native_asmparser()


def compile_module(module: ir.Module) -> binding.ExecutionEngine:
    """Compile a module; return what keeps its code and finds the addresses of its functions."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    allow_assembly()
    module.triple = binding.get_default_triple()
    machine = binding.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine
