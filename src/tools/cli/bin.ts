#!/usr/bin/env node
/**
 * The command `keyscope`: parses the command line, runs one subcommand, closes the config, exits.
 */
import { setFlagsFromString } from 'node:v8';
import { within } from '../../core/thenable.js';
import { onlyLook } from '../../stores/start.js';
import { type Request, readArguments } from './arguments.js';
import type { Call } from './call.js';
import type { CommandConfig } from './define-config.js';
import { watchInterrupts } from './interrupts.js';
import { readCount } from './options.js';
import { createOutput, flushErrors, type Output, ReaderGone } from './output.js';
import { helpFor } from './subcommands.js';
import { openTerminal } from './terminal.js';

/** The longest time for `close` of the config, and for a slow reader of standard error. */
const CLOSE_MS = 5_000;

// Node 24 and later may hang at exit while one of these compilers works on another thread
// (nodejs/node#64274). Bun has no such flags.
if (!('bun' in process.versions)) {
  for (const flag of ['--no-maglev', '--no-concurrent-sparkplug']) setFlagsFromString(flag);
}

/** Exits explicitly, because open connections of the config may keep the process alive. */
async function main(argv: readonly string[]): Promise<never> {
  // Before parsing, because parse errors are JSON as well.
  const output = createOutput(argv.includes('--json'));
  let exit: number;
  try {
    exit = await answer(readArguments(argv), output);
  } catch (error) {
    exit = await fail(error, output);
  }
  await within(CLOSE_MS, flushErrors(), () => {});
  process.exit(exit);
}

async function answer(request: Request, output: Output): Promise<number> {
  if (request.kind === 'run') return run(request, output);
  if (request.kind === 'version') {
    await output.line((await import('./package-file.js')).readVersion());
  } else {
    await output.lines(helpFor(request.subcommand));
  }
  return 0;
}

type RunRequest = Extract<Request, { readonly kind: 'run' }>;

async function run({ subcommand, given }: RunRequest, output: Output): Promise<number> {
  const interrupts = watchInterrupts(output.say);
  const timeoutMs = readTimeout(given.text('timeout'));
  let opened: CommandConfig | null = null;
  const call: Call = {
    given,
    output,
    terminal: openTerminal(output),
    interrupts,
    timeoutMs,
    async config() {
      const { loadConfig } = await import('./load-config.js');
      if (subcommand.onlyLooks === true) onlyLook();
      opened = await loadConfig(given.text('config'), timeoutMs);
      return opened;
    },
  };
  const work = subcommand.load().then((loaded) => loaded(call));
  try {
    const exit = await interrupts.unless(work);
    const interrupted = interrupts.exit();
    if (interrupted !== null) output.say('Interrupted. The change had begun and was completed.');
    return interrupted ?? exit ?? 0;
  } finally {
    await close(opened, Math.min(timeoutMs, CLOSE_MS), output);
  }
}

function readTimeout(text = '30'): number {
  return Math.min(readCount(text, 'timeout'), 3_600) * 1_000;
}

async function close(config: CommandConfig | null, limitMs: number, output: Output): Promise<void> {
  try {
    // Called inside the promise, so that a synchronous error is reported like a rejection.
    const closing = Promise.resolve().then(() => config?.close?.());
    await within(limitMs, closing, () => {
      throw new Error(`it did not finish within ${limitMs / 1_000} s`);
    });
  } catch (error) {
    const { textOf, withoutSecrets } = await import('./explain.js');
    output.say(`The config's close() failed: ${withoutSecrets(textOf(error))}`);
  }
}

async function fail(error: unknown, output: Output): Promise<number> {
  // The reader of the pipe has stopped, as in `| head -1`.
  if (error instanceof ReaderGone) return 0;
  const { explain } = await import('./explain.js');
  const { exit, code, message } = explain(error);
  if (output.isJson) output.say(JSON.stringify({ error: { exit, code, message } }));
  else output.say(`keyscope: ${message}`);
  return exit;
}

await main(process.argv.slice(2));
