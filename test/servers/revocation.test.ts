/**
 * How long a key that one process revoked, suspended or retired still works in another that caches
 * look-ups, and how long it still addresses an entity that withdrew: with the channel up, and with
 * it down. The same for the token of a job that acts as a key without a secret. Prints a table.
 *
 * The assertions hold on any machine. No verification that began after `maxStalenessMs` admitted
 * the key. With the channel up, the test is shorter than `maxStalenessMs`, so that is not what
 * ended it.
 */
import { cacheStore } from 'keyscope/cache';
import { createKeylessVerifier } from 'keyscope/keyless';
import { LRUCache } from 'lru-cache';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { issueForTwo, MARKINGS } from '../support/cache.ts';
import { startCached } from '../support/cached-process.ts';
import { forge } from '../support/jwt.ts';
import { AUDIENCE, CI, ENTRY, JOB, TRUST } from '../support/keyless.ts';
import { AUTHORITY, OTHER, PLAIN } from '../support/keyring.ts';
import { keyringOver, type PatientKeyring } from '../support/patient-keyring.ts';
import { describeOn, type Server } from '../support/servers.ts';
import { makeScratch } from '../support/store-address.ts';

const timeout = 120_000;
// With the channel down, each takes the full `maxStalenessMs`. Each mark is made equally often.
const TIMES = { up: 5, down: 2 } as const;
// With the channel up, only the channel can end a key within this test.
const PROMISE = { up: 30_000, down: 400 } as const;
type Channel = keyof typeof PROMISE;

const time = () => performance.timeOrigin + performance.now();

// ── The table ────────────────────────────────────────────────────────────────────────────────────

const lines: string[] = [];

function addLine(server: Server, channel: Channel, lags: readonly number[]): void {
  const median = lags[Math.floor(lags.length / 2)] ?? 0;
  const longest = lags.at(-1) ?? 0;
  const figures = [PROMISE[channel], median, longest].map((ms) => `${ms.toFixed(1)} ms`);
  lines.push(row(server, channel, ...figures));
}

function row(store: string, channel: string, ...figures: readonly string[]): string {
  const columns = figures.map((figure) => figure.padStart(10));
  return store.padEnd(10) + channel.padEnd(9) + columns.join('');
}

afterAll(() => {
  if (lines.length === 0) return;
  const up = TIMES.up * CASES.length;
  const down = TIMES.down * CASES.length;
  const counts = `${up} credentials with the channel up, ${down} with it down`;
  const head = row('store', 'channel', 'promise', 'median', 'longest');
  console.log(
    `\nends and withdrawals in another process, ${counts}\n${[head, ...lines].join('\n')}`,
  );
});

// ── The other process ────────────────────────────────────────────────────────────────────────────

/** A credential of a key for two entities. */
interface Credential {
  readonly text: string;
  readonly keyId: string;
}

async function makeKey(keyring: PatientKeyring): Promise<Credential> {
  const { key, info } = await issueForTwo(keyring);
  return { text: key, keyId: info.keyId };
}

async function makeToken(keyring: PatientKeyring): Promise<Credential> {
  const input = { ...PLAIN, accessibleEntities: [OTHER], trust: TRUST };
  const { info } = await keyring.issueKeyless(input, { ...AUTHORITY, entities: [OTHER] });
  const iat = Math.floor(Date.now() / 1000);
  const times = { iat, nbf: iat, exp: iat + 300 };
  const claims = { ...JOB, ...times, aud: `${AUDIENCE}#${info.keyId}` };
  return { text: forge(CI, { typ: 'JWT' }, claims), keyId: info.keyId };
}

/** The marks that take something away: `cached-child.ts` waits for them. */
const TAKING = MARKINGS.filter(({ before }) => before === 'two entities');

// Nobody holds the text of a key without a secret, so it cannot be rotated.
const CASES = [
  ...TAKING.map((marking) => ({ make: makeKey, marking })),
  ...TAKING.filter(({ what }) => what !== 'retired').map((marking) => ({
    make: makeToken,
    marking,
  })),
];
// They open connections and subscribe to the channel.
const WARM_UP = CASES.slice(0, 2);

/** How long each credential still worked there, in milliseconds and sorted. */
async function readLags(address: string, channel: Channel): Promise<number[]> {
  const { store, invalidation, close } = await openStore(address);
  const cached = cacheStore(store, {
    cache: new LRUCache<string, object>({ max: 100 }),
    maxStalenessMs: PROMISE[channel],
    ...(channel === 'up' && invalidation && { invalidation }),
  });
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY] });
  const keyring = keyringOver(cached, Date.now, tokens);
  const child = startCached(address, PROMISE[channel], channel);
  const lags: number[] = [];
  try {
    expect(await child.hear()).toEqual(['ready']);
    const repeated = Array.from({ length: TIMES[channel] }, () => CASES);
    for (const { make, marking } of [...WARM_UP, ...repeated.flat()]) {
      const { text, keyId } = await make(keyring);
      child.send(text);
      expect(await child.hear()).toEqual(['let in']);
      await marking.mark(keyring, keyId);
      const marked = time();
      const [lastLetIn, shown] = (await child.hear()) as [number, number];
      expect(lastLetIn - marked, marking.what).toBeLessThan(PROMISE[channel]);
      lags.push(Math.max(0, shown - marked));
    }
    return lags.slice(WARM_UP.length).sort((a, b) => a - b);
  } finally {
    await child.stop();
    await keyring.flush();
    await close();
  }
}

const CHANNELS: Readonly<Record<Server, readonly Channel[]>> = {
  postgres: ['up', 'down'],
  mysql: ['down'],
  redis: ['up', 'down'],
};

for (const server of Object.keys(CHANNELS) as Server[]) {
  const onServer = await describeOn(server);
  onServer(`${server}, with a cache in two processes`, () => {
    test.each(CHANNELS[server])(
      'shows in time what the other did to a key, with the channel %s',
      { timeout },
      async (channel) => {
        const { address, remove } = await makeScratch(server);
        try {
          addLine(server, channel, await readLags(address, channel));
        } finally {
          await remove();
        }
      },
    );
  });
}
