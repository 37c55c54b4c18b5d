#!/bin/sh
# Lets go test fuzz a program for another machine: -exec, given the absolute path of this file. Fuzzing starts its
# workers from argv[0], so that has to be this file again; the program is remembered in the environment.
# QEMU names the emulator, qemu-aarch64-static by default.
if [ -z "$QEMU_PROGRAM" ]; then
	QEMU_PROGRAM=$(realpath "$1")
	export QEMU_PROGRAM
	shift
fi
exec "${QEMU:-qemu-aarch64-static}" -0 "$0" "$QEMU_PROGRAM" "$@"
