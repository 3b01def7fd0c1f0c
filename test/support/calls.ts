/** Runs subcommands in this process, over a keyring of the test. */
import { type CommandConfig, defineConfig } from 'keyscope/cli';
import type { Call } from '../../src/tools/cli/call.js';
import type { OptionName } from '../../src/tools/cli/options.js';
import { captureOutput } from './output.ts';

/** What the config of the command has. */
type Service = Pick<CommandConfig, 'store' | 'keyring' | 'prefixes' | 'routes'>;

/** Makes a run of the command with these options, and records its output and its questions. */
export function callOf(service: Service, operand: string, options: object) {
  const { store, keyring, prefixes, routes } = service;
  const given = new Map(Object.entries({ actor: 'eve', reason: 'leaked', yes: true, ...options }));
  const { output, said, lines } = captureOutput();
  const asked: string[] = [];
  const text = (name: OptionName) => given.get(name) as string | undefined;
  const call: Call = {
    given: {
      operand,
      operands: operand === '' ? [] : [operand],
      text,
      texts: (name) => (given.get(name) ?? []) as readonly string[],
      required: (name) => text(name) ?? '',
      flag: (name) => given.get(name) !== undefined,
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
    config: async () => defineConfig({ store, keyring, prefixes, routes }),
  };
  return { call, said, lines, asked };
}
