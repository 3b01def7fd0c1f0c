/** Runs subcommands in this process, over a keyring of the test. */
import type { KeyStore } from 'keyscope';
import { defineConfig } from 'keyscope/cli';
import type { Call } from '../../src/tools/cli/call.js';
import type { OptionName } from '../../src/tools/cli/options.js';
import { catalog, type Ring } from './keyring.ts';
import { captureOutput } from './output.ts';

interface Service {
  readonly store: KeyStore;
  readonly keyring: Ring;
}

/** Makes a run of the command with these options, and records its output and its questions. */
export function callOf({ store, keyring }: Service, operand: string, options: object) {
  const given = new Map(Object.entries({ actor: 'eve', reason: 'leaked', yes: true, ...options }));
  const { output, said, lines } = captureOutput();
  const asked: string[] = [];
  const text = (name: OptionName) => given.get(name) as string | undefined;
  const call: Call = {
    given: {
      operand,
      operands: [operand],
      text,
      required: (name) => text(name) ?? '',
      flag: (name) => given.get(name) === true,
    },
    output,
    terminal: {
      isThere: false,
      confirm: async (question) => void asked.push(question),
      ask: async () => '',
      readSecret: async () => '',
    },
    interrupts: { change: async (act) => act(), unless: (work) => work, exit: () => null },
    timeoutMs: 1_000,
    config: async () => defineConfig({ keyring, store, catalog }),
  };
  return { call, said, lines, asked };
}
