/**
 * Plays one accident, in a process of its own: `play.ts <number in the list>`. Whatever breaks
 * then, breaks one accident, and none finds the heap or the clock that another one has left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Accident, Stage } from './accident.ts';
import { ACCIDENTS } from './accidents.ts';
import { type Figures, type Rates, type Stream, startStream } from './stream.ts';

const RATES: Rates = { honest: 200, revoked: 100, changes: 10 };
/** All goes well for so long before. */
const BEFORE_MS = process.argv.includes('--quick') ? 1_000 : 2_000;
/** For so long what has come back is watched. */
const AFTER_MS = 2_000;
const WHOLE_LIMIT_MS = 90_000;

/** What became of an accident. */
export interface Played {
  readonly figures: Figures;
  /** From what happened, or from its mending, until the last thing went wrong, in seconds. */
  readonly seconds: number;
}

async function playOn(accident: Accident, stage: Stage, stream: Stream): Promise<Played> {
  await sleep(BEFORE_MS);
  await stage.strike();
  let since = performance.now();
  await sleep(accident.lastsMs);
  if (stage.mend !== undefined) {
    await stage.mend();
    since = performance.now();
  }
  const last = await stream.whole(since, WHOLE_LIMIT_MS);
  if (stage.comeBack !== undefined) {
    await stage.comeBack();
    await sleep(AFTER_MS);
    await stream.whole(performance.now(), WHOLE_LIMIT_MS);
  }
  const figures = await stream.end();
  return { figures, seconds: last === null ? 0 : (last - since) / 1_000 };
}

async function play(accident: Accident): Promise<Played> {
  const stage = await accident.open();
  try {
    const stream = await startStream(stage, RATES);
    try {
      return await playOn(accident, stage, stream);
    } finally {
      // Also where it was never whole again.
      await stream.stop();
    }
  } finally {
    await stage.close();
  }
}

// Servers are ended when this process is: it must not end without saying so, nor be left alone.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
process.on('disconnect', () => process.exit(1));

const accident = ACCIDENTS[Number(process.argv[2])];
if (accident === undefined) throw new Error('no such accident');
const played = await play(accident);
process.send?.(played, () => process.exit(0));
