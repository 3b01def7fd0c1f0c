/** Runs the command like people do: in a separate process, from source, in a separate folder. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Folder, folder } from './folder.ts';
import { NODE_ARGUMENTS } from './store-process.ts';

const BIN = fileURLToPath(new URL('../../src/tools/cli/bin.ts', import.meta.url));

/** Node's compile cache, with which a process starts in a third of the time. */
const CACHE = join(tmpdir(), 'keyscope-compiled');

/** The organization of every test of the command. */
export const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
/** Another one. */
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';

/** The pepper of the config, which no output may show. */
export const PEPPER = 'a pepper of at least thirty-two bytes';

/**
 * Makes a config over a SQLite file, with additional lines before it and fields in it. With the
 * table of a policy, its keyring has that policy.
 */
export function sqliteConfig(lines = '', fields = '', table = ''): string {
  const guarding = table === '' ? 'catalog' : `policy: definePolicy(catalog, ${table})`;
  return `
    import { DatabaseSync } from 'node:sqlite';
    import { createKeyring, definePolicy, defineScopes } from 'keyscope';
    import { defineConfig } from 'keyscope/cli';
    import { migrate, sqliteStore } from 'keyscope/stores/sqlite';
    export const catalog = defineScopes(
      { threats: { read: 'Read.', write: 'Write.' }, users: { delete: 'Delete.' } },
      { reserved: ['users:*'] },
    );
    const client = new DatabaseSync('keys.db');
    let store = sqliteStore(client);
    let deployment = 'acme test';
    let peppers = [{ id: 'p1', secret: '${PEPPER}' }];
    ${lines}
    const keyring = createKeyring({ prefix: 'acme', ${guarding}, store, peppers, deployment });
    export default defineConfig({
      keyring,
      store,
      peppers: ['p1'],
      migrate: () => migrate(client),
      sql: { dialect: 'sqlite', query: (sql) => client.prepare(sql).all() },
      close: () => client.close(),
      ${fields}
    });`;
}

/** The output and the exit of a process. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number | null;
}

/** A folder with a config. */
export interface Place extends Folder {
  /** Writes a file into the folder. */
  write(name: string, text: string): void;
  /** Runs the command in the folder, with this standard input. */
  run(args: readonly string[], input?: string, env?: NodeJS.ProcessEnv): Promise<Ran>;
  /** Starts the command, for a test that talks to it. */
  start(args: readonly string[], env?: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams;
  /** Returns the command line for a shell. */
  line(args: readonly string[]): string;
}

/** Makes a new folder, by default with a config over a SQLite file. */
export function openPlace(config: string | null = sqliteConfig()): Place {
  const own = folder();
  const argv = (args: readonly string[]) => [...NODE_ARGUMENTS, BIN, ...args];
  function write(name: string, text: string): void {
    writeFileSync(own.file(name), text);
  }
  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const { FORCE_COLOR: _, ...inherited } = process.env;
    return spawn(process.execPath, argv(args), {
      cwd: own.file(''),
      env: { ...inherited, NO_COLOR: '1', NODE_COMPILE_CACHE: CACHE, ...env },
    });
  }
  async function run(args: readonly string[], input = '', env?: NodeJS.ProcessEnv): Promise<Ran> {
    const child = start(args, env);
    // The process may end before it has read anything.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    return ended(child);
  }
  const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
  const line = (args: readonly string[]) => [process.execPath, ...argv(args)].map(quote).join(' ');
  if (config !== null) write('keyscope.config.mjs', config);
  return { ...own, write, run, start, line };
}

/** The output of a process until it ends. */
export async function ended(child: ChildProcessWithoutNullStreams): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const [exit] = (await once(child, 'close')) as [number | null];
  return { stdout, stderr, exit };
}

/**
 * Runs a shell's line in a folder. Asynchronous, so that a test whose process hangs fails by name.
 */
export async function shell(
  line: string,
  folder: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const inherited = { ...process.env, ...env };
  return ended(spawn('bash', ['-o', 'pipefail', '-c', line], { cwd: folder, env: inherited }));
}

/** Makes a key in a place, and returns it and its id. */
export async function issueIn(
  place: Place,
  name = 'CI',
  more: readonly string[] = [],
): Promise<{ readonly key: string; readonly keyId: string }> {
  const required = ['--name', name, '--scopes', 'threats:read', '--expires', '90d'];
  const { stdout, stderr } = await place.run([
    'issue',
    '--entity',
    ENTITY,
    ...required,
    '--json',
    ...more,
  ]);
  if (stdout === '') throw new Error(stderr);
  const { key, info } = JSON.parse(stdout) as { key: string; info: { keyId: string } };
  return { key, keyId: info.keyId };
}

/** Whether util-linux' `script` is here, which runs a command in a terminal. */
export const hasTerminal: boolean = spawnSync('script', ['--version']).status === 0;

/** A conversation: what is typed once a text has been shown. */
export type Said = readonly [shown: string, typed: string];

/** Runs a shell's line in a terminal of so many columns, and types. */
export async function talk(line: string, said: readonly Said[], columns = 80): Promise<Ran> {
  const shell = `stty cols ${columns}; ${line}`;
  const child = spawn('script', ['--quiet', '--return', '--command', shell, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: CACHE },
  });
  let shown = '';
  const left = [...said];
  child.stdout.on('data', (text) => {
    shown += String(text);
    const next = left[0];
    if (next === undefined || !shown.includes(next[0])) return;
    left.shift();
    child.stdin.write(next[1]);
  });
  return ended(child);
}
