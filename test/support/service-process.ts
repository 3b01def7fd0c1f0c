/** The examples as programs: separate processes, run from the unmodified source. */
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
  resourceServer: fromRoot('examples/more/resource-server/server.ts'),
  bootChild: fromRoot('test/support/boot-child.ts'),
} as const;

type Environment = Readonly<Record<string, string>>;

/** An environment for a service, without secrets from the tests' environment. */
export function environmentWith(cache: string, more: Environment = {}): NodeJS.ProcessEnv {
  const none = { KEYSCOPE_PEPPER: '', KEYSCOPE_SIGNING_KEY: '' };
  // Without the cache, each start would strip the types of the whole source again.
  return { ...process.env, ...none, NODE_COMPILE_CACHE: cache, ...more };
}

/** The output of a process and its exit. */
export interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

/** Runs a program until it ends. A program that stays up is killed and has no exit code. */
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

/** A running server. */
export interface RunningServer {
  /** Its output until it was up. */
  readonly out: string;
  readonly origin: string;
  /** Its whole output so far. */
  readonly written: Readonly<Pick<Ended, 'out' | 'err'>>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it like Ctrl-C and resolves with its exit code. */
  stop(): Promise<number | NodeJS.Signals | null>;
}

/** Starts a server on a free port and waits until it is up. */
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

/** Writes the program that starts the console, with REST and MCP, into the given folder. */
function writePlatform(folder: string): string {
  const script = `${folder}.mjs`;
  const lines = [`import { runDemo } from '${PROGRAMS.console}';`, `await runDemo('${folder}');`];
  writeFileSync(script, `${lines.join('\n')}\n`);
  return script;
}

/** Starts that program and waits until it is up. */
export function startPlatform(
  folder: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningServer> {
  return startServer(writePlatform(folder), args, env);
}

/** A server that accepts connections but never sends anything. */
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
