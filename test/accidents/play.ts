/**
 * Plays one accident in a separate process: `play.ts <number in the list>`. A crash then affects
 * only this accident, and each starts with a fresh heap and clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Accident, Stage } from './accident.ts';
import { ACCIDENTS } from './accidents.ts';
import { type Figures, type Rates, type Stream, startStream } from './stream.ts';

const RATES: Rates = { honest: 200, revoked: 100, changes: 10 };
/** How long everything must go well before the accident. */
const BEFORE_MS = process.argv.includes('--quick') ? 1_000 : 2_000;
/** How long to watch after everything works again. */
const AFTER_MS = 2_000;
const WHOLE_LIMIT_MS = 90_000;

/** The result of an accident. */
export interface Played {
  readonly figures: Figures;
  /** Seconds from the accident or its mending until the last failure. */
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
      // Even if it never recovered.
      await stream.stop();
    }
  } finally {
    await stage.close();
  }
}

// The servers end with this process, so it must not die silently or be orphaned.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
process.on('disconnect', () => process.exit(1));

const accident = ACCIDENTS[Number(process.argv[2])];
if (accident === undefined) throw new Error('no such accident');
const played = await play(accident);
process.send?.(played, () => process.exit(0));
