/** Tells a load balancer or an orchestrator whether the service is ready for requests. */
import { generateKey, isAccessError } from 'keyscope';
import type { ChannelState } from 'keyscope/cache';
import type { Answer, Report } from '../service/problem.ts';

export interface ReadinessOptions {
  /** Looks up a key in the store. */
  readonly verify: (key: string) => Promise<unknown>;
  readonly prefix: string;
  /** The state of the channel that reports keys which other instances end. */
  readonly channelState: () => ChannelState;
  readonly report: Report;
  /** Milliseconds. */
  readonly now: () => number;
}

export interface Readiness {
  /** 200 if the service is ready, 503 if not. The body has the reason and the channel's state. */
  answer(): Promise<Answer>;
}

/** The answer of the store is reused for this long. */
const MEMORY_MS = 1_000;

type Status = 'ready' | 'starting' | 'store away';

/**
 * An instance that has not subscribed yet is not ready, because it would not learn which keys other
 * instances end. An instance whose channel breaks later stays ready. It still notices those keys
 * within the bound of its cache. If all instances lost their channel at once and became unready,
 * none would answer.
 */
export function createReadiness(options: ReadinessOptions): Readiness {
  const { verify, prefix, channelState, report, now } = options;
  let asked: { readonly at: number; readonly isUp: Promise<boolean> } | undefined;

  /** Looks up a random key, which is in no cache. */
  async function ask(): Promise<boolean> {
    try {
      await verify(generateKey({ prefix }));
    } catch (error) {
      if (isAccessError(error)) return true;
      report(error);
    }
    return false;
  }

  function isStoreUp(): Promise<boolean> {
    const at = now();
    const isOld = asked === undefined || at - asked.at >= MEMORY_MS || at < asked.at;
    if (asked === undefined || isOld) asked = { at, isUp: ask() };
    return asked.isUp;
  }

  async function statusOf(channel: ChannelState): Promise<Status> {
    if (!(await isStoreUp())) return 'store away';
    return channel === 'starting' ? 'starting' : 'ready';
  }

  return {
    async answer() {
      const channel = channelState();
      const status = await statusOf(channel);
      const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
      const body = JSON.stringify({ status, channel });
      return { status: status === 'ready' ? 200 : 503, headers, body };
    },
  };
}
