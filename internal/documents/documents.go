// Package documents has no code but the test that holds the documents of the repository to what there is.
//
// Of each fenced block,
//
//   - go is compiled: a program by itself, which is also run, and whose output has to be that of a block of language output
//     behind it, if there is one; anything else as the body of a function, whose parameters are what a comment in front of
//     the block declares: <!-- given: ids []int32, dst rowvec.Matrix -->
//   - sh is taken apart: programs, commands of bench and their flags, flags of go test, packages, patterns, files, ports and
//     variables must exist
//   - text is what something prints, and any other language a mistake
//
// Inline code that is a command is taken apart too. What it names as pkg.Name must be exported, and its ExampleName must be
// there. Links must lead to files and headings. Every exported function and method has a runnable example, every package a
// first sentence, and every command, fuzz target and dependency its line in a table.
package documents
