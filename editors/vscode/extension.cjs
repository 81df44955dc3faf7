/** Starts `factory lsp` for pipelines in VS Code. */
const { resolve } = require('node:path');
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** @type {import('vscode-languageclient/node').LanguageClient | undefined} */
let client;

/** The program of the setting: a name is looked for on PATH. */
function program() {
  const path = vscode.workspace.getConfiguration('factory').get('path', 'factory').trim() || 'factory';
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  return path.startsWith('.') && folder !== undefined ? resolve(folder.uri.fsPath, path) : path;
}

async function start() {
  const command = program();
  client = new LanguageClient(
    'factory',
    'Factory pipelines',
    { command, args: ['lsp'] },
    {
      documentSelector: [{ language: 'factory-dot' }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.{dot,md}') },
    },
  );
  try {
    await client.start();
  } catch {
    void vscode.window.showErrorMessage(
      `${command} lsp does not start. Install it (npm install --global dotfactory), or set factory.path to the program.`,
    );
  }
}

exports.activate = async (context) => {
  await start();
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (!change.affectsConfiguration('factory.path')) return;
      await client?.stop().catch(() => {});
      await start();
    }),
  );
};

exports.deactivate = () => client?.stop();
