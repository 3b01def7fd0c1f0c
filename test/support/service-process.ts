/** Runs the examples as separate processes, from source. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { NODE_ARGUMENTS } from './store-process.ts';

/** Milliseconds for a test that starts several processes on a busy machine. */
export const START_TIMEOUT = 120_000;

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The paths of the programs. */
export const PROGRAMS = {
  demo: fromRoot('examples/platform/host/demo.ts'),
  console: fromRoot('examples/console/server.ts'),
  consoleChild: fromRoot('test/support/console-child.ts'),
  resourceServer: fromRoot('examples/more/resource-server/server.ts'),
  bootChild: fromRoot('test/support/boot-child.ts'),
} as const;

type Environment = Readonly<Record<string, string>>;

/** Makes the environment of a service, without any secret from the environment of the tests. */
export function environmentWith(cache: string, more: Environment = {}): NodeJS.ProcessEnv {
  const none = { PEPPER: '', KEYSCOPE_SIGNING_KEY: '' };
  // Without the cache, each start would strip all types again.
  return { ...process.env, ...none, NODE_COMPILE_CACHE: cache, ...more };
}

/** The output and the exit of a process. */
export interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

/** Runs a program to its end. A program that keeps running is ended, and has no exit code. */
export async function runToEnd(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Ended> {
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, script, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: START_TIMEOUT / 2,
  });
  const closed = once(child, 'close') as Promise<[code: number | null]>;
  const out = text(child.stdout);
  const err = text(child.stderr);
  const [code] = await closed;
  return { out: await out, err: await err, code };
}

/** A server that is up. */
export interface RunningServer {
  /** Its output until it was up. */
  readonly out: string;
  readonly origin: string;
  /** Its whole output so far. */
  readonly written: Readonly<Pick<Ended, 'out' | 'err'>>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it like Ctrl-C, and resolves with its exit code. */
  stop(): Promise<number | NodeJS.Signals | null>;
}

/** Starts a server on a free port, and waits until it is up. */
export async function startServer(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningServer> {
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, script, ...args], {
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: START_TIMEOUT / 2,
  });
  const written = { out: '', err: '' };
  child.stderr.on('data', (data: Buffer) => {
    written.err += data.toString();
    process.stderr.write(data);
  });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const ended = closed.then(([code, signal]) => code ?? signal);
  await new Promise<void>((resolve) => {
    child.stdout.once('end', resolve);
    child.stdout.on('data', (data: Buffer) => {
      written.out += data.toString();
      if (written.out.includes('Ctrl-C')) resolve();
    });
  });
  const { out } = written;
  const origin = /up at (http:\/\/127\.0\.0\.1:[1-9]\d*)\/v1\n/.exec(out)?.[1] ?? 'none';
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  return {
    out,
    origin,
    written,
    ended,
    kill,
    stop() {
      kill('SIGINT');
      return ended;
    },
  };
}

/** Writes a program that starts the console, with REST and MCP, in a separate folder. */
function writePlatform(folder: string): string {
  const script = `${folder}.mjs`;
  const lines = [`import { runDemo } from '${PROGRAMS.console}';`, `await runDemo('${folder}');`];
  writeFileSync(script, `${lines.join('\n')}\n`);
  return script;
}

/** Starts that program, and waits until it is up. */
export function startPlatform(
  folder: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningServer> {
  return startServer(writePlatform(folder), args, env);
}

/** Starts a server that accepts connections, and never sends anything. */
export async function startSilent(): Promise<{ readonly port: number; stop(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
