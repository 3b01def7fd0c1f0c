/**
 * A process beside the test's. `write <driver> <file> <seed>` issues, revokes and rotates until it is killed, and
 * says of each operation that it begins and that it was acknowledged. `serve <driver>` does what it is asked.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { isAccessError } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import type { Driver } from './sqlite.ts';
import { AUTHORITY, INPUT, keyringOn, open } from './sqlite.ts';

// Synchronous and unbuffered: what was said is in the pipe when the process is killed.
const say = (...words: readonly unknown[]) => writeSync(1, `${JSON.stringify(words)}\n`);

const HOUR = 3_600_000;
// An end in case that nobody kills.
const MOST = 5_000;

async function write(driver: Driver, file: string, seed: number): Promise<void> {
  let state = seed;
  const dice = (sides: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % sides;
  };
  const db = open(driver, file);
  say('opening');
  const keyring = keyringOn(db);
  const live: string[] = [];
  for (let i = 0; i < MOST; i++) {
    const keyId = dice(2) === 0 ? live.splice(dice(live.length || 1), 1)[0] : undefined;
    const overlapMs = dice(2) * HOUR;
    if (keyId === undefined) {
      say('issue');
      const { key, info } = await keyring.issue(INPUT, AUTHORITY);
      live.push(info.keyId);
      say('issued', info.keyId, key);
    } else if (dice(2) === 0) {
      say('revoke', keyId);
      await keyring.revoke(keyId, AUTHORITY);
      say('revoked', keyId);
    } else {
      say('rotate', keyId);
      const { key, info } = await keyring.rotate(keyId, { overlapMs }, AUTHORITY);
      live.push(info.keyId);
      say('rotated', info.keyId, key, keyId, overlapMs);
    }
  }
}

/** One line in, one line out. */
async function serve(driver: Driver): Promise<void> {
  const tasks: Readonly<Record<string, (file: string, keyId: string, overlapMs: number) => unknown>> = {
    open(file) {
      const db = open(driver, file);
      sqliteStore(db);
      db.close();
      return 'opened';
    },
    async rotate(file, keyId, overlapMs) {
      const db = open(driver, file);
      try {
        const { key } = await keyringOn(db).rotate(keyId, { overlapMs }, AUTHORITY);
        return { key };
      } catch (error) {
        return isAccessError(error) ? error.code : String(error);
      } finally {
        db.close();
      }
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const [task, file, keyId, overlapMs] = JSON.parse(line) as [string, string, string, number];
    try {
      say(await tasks[task]?.(file, keyId, overlapMs));
    } catch (error) {
      say(String(error));
    }
  }
}

// Who is killed leaves no cache behind; without one this does nothing.
flushCompileCache();

const [task, driver, file = '', seed] = process.argv.slice(2);
await (task === 'write' ? write(driver as Driver, file, Number(seed)) : serve(driver as Driver));
