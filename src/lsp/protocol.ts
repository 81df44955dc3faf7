/** The library that speaks the protocol of language servers. A separate file of the build, which only `factory lsp` loads. */

export { createConnection, ResponseError, TextDocuments } from 'vscode-languageserver/node';
export { TextDocument } from 'vscode-languageserver-textdocument';
