/** Accidents of a SQLite file on which the stream's two processes have a handle each. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { KeyStore } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { folder } from '../support/folder.ts';
import { mountSmall, SMALL_DISK_NEEDS } from '../support/small-disk.ts';
import type { Accident, Stage } from './accident.ts';

const ENGINE = 'SQLite';

/** A file, and the handle of each process. */
interface Handles {
  readonly path: string;
  readonly managing: DatabaseSync;
  readonly guarding: DatabaseSync;
}

interface Blow {
  readonly name: string;
  readonly lastsMs: number;
  strike(handles: Handles): unknown;
  mend?(handles: Handles): unknown;
}

function openHandles(path: string): Handles {
  return { path, managing: new DatabaseSync(path), guarding: new DatabaseSync(path) };
}

function closeHandles({ managing, guarding }: Handles): void {
  managing.close();
  guarding.close();
}

function waysTo({ managing, guarding }: Handles) {
  return { managing: sqliteStore(managing), guarding: sqliteStore(guarding) };
}

/** Another process takes the lock and releases it after this long. */
async function hold({ path }: Handles, mode: 'IMMEDIATE' | 'EXCLUSIVE', ms: number) {
  const holder = fork(new URL('sqlite-holder.ts', import.meta.url), [path, mode, String(ms)]);
  await once(holder, 'message');
}

function pagesOf(db: DatabaseSync): number {
  const [row] = db.prepare('PRAGMA page_count').all() as { readonly page_count: number }[];
  return row?.page_count ?? 0;
}

const BLOWS: readonly Blow[] = [
  {
    name: 'another process holds the write lock for 5 s (BEGIN IMMEDIATE)',
    lastsMs: 5_000,
    strike: (handles) => hold(handles, 'IMMEDIATE', 5_000),
  },
  {
    name: 'another process holds the write lock for 5 s (BEGIN EXCLUSIVE)',
    lastsMs: 5_000,
    strike: (handles) => hold(handles, 'EXCLUSIVE', 5_000),
  },
  {
    name: 'the file may not grow for 3 s (max_page_count)',
    lastsMs: 3_000,
    strike: ({ managing }) => managing.exec(`PRAGMA max_page_count = ${pagesOf(managing)}`),
    mend: ({ managing }) => managing.exec('PRAGMA max_page_count = 1000000'),
  },
  {
    name: 'the database may only be read for 3 s (query_only)',
    lastsMs: 3_000,
    strike({ managing, guarding }) {
      for (const db of [managing, guarding]) db.exec('PRAGMA query_only = ON');
    },
    mend({ managing, guarding }) {
      for (const db of [managing, guarding]) db.exec('PRAGMA query_only = OFF');
    },
  },
];

async function stageOf({ strike, mend }: Blow): Promise<Stage> {
  const { file, remove } = folder();
  const handles = openHandles(file('keys.db'));
  return {
    ...waysTo(handles),
    strike: async () => void (await strike(handles)),
    mend: async () => void (await mend?.(handles)),
    async close() {
      closeHandles(handles);
      remove();
    },
  };
}

async function diskFull(): Promise<Stage> {
  const disk = mountSmall();
  const handles = openHandles(`${disk.path}/keys.db`);
  return {
    ...waysTo(handles),
    strike: async () => disk.fill(),
    mend: async () => disk.empty(),
    async close() {
      closeHandles(handles);
      disk.unmount();
    },
  };
}

/** For long runs: the lock is taken again and again. */
export async function openLocked() {
  const { file, remove } = folder();
  const handles = openHandles(file('keys.db'));
  return {
    name: ENGINE,
    ...waysTo(handles),
    troubles: BLOWS.map(({ name, lastsMs, strike, mend }) => ({
      name,
      lastsMs,
      strike: () => strike(handles),
      mend: () => mend?.(handles),
    })),
    async close() {
      closeHandles(handles);
      remove();
    },
  };
}

// ── A file that is gone ─────────────────────────────────────────────────────────────────────────

/** A store that is replaced by another after a restart. */
function following(current: () => KeyStore): KeyStore {
  const names = Object.keys(current()) as (keyof KeyStore)[];
  const methods = names.map((name) => [
    name,
    (...given: unknown[]) => (current()[name] as (...args: unknown[]) => unknown)(...given),
  ]);
  return Object.fromEntries(methods) as KeyStore;
}

async function removed(): Promise<Stage> {
  const { file, remove } = folder();
  let handles = openHandles(file('keys.db'));
  let ways = waysTo(handles);
  return {
    managing: following(() => ways.managing),
    guarding: following(() => ways.guarding),
    async strike() {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${handles.path}${suffix}`);
    },
    async mend() {
      closeHandles(handles);
      handles = openHandles(file('keys.db'));
      ways = waysTo(handles);
    },
    async close() {
      closeHandles(handles);
      remove();
    },
  };
}

export const SQLITE: readonly Accident[] = [
  ...BLOWS.map((blow) => ({
    engine: ENGINE,
    name: blow.name,
    lastsMs: blow.lastsMs,
    open: () => stageOf(blow),
  })),
  {
    engine: ENGINE,
    name: 'the disk is full for 3 s',
    lastsMs: 3_000,
    isLong: true,
    missing: SMALL_DISK_NEEDS,
    open: diskFull,
  },
  {
    engine: ENGINE,
    name: 'the file is removed, and the processes restart after 3 s',
    lastsMs: 3_000,
    mayLose: 'The processes go on with a file that has no name; after a restart it is gone.',
    open: removed,
  },
];
