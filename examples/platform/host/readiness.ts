/** Whether the service is to be sent requests, for whatever is in front of it. */
import { generateKey, isAccessError } from 'keyscope';
import type { ChannelState } from 'keyscope/cache';
import type { Answer, Report } from '../service/problem.ts';

export interface ReadinessOptions {
  /** Asks the key store. */
  readonly verify: (key: string) => Promise<unknown>;
  readonly prefix: string;
  /** How the channel stands that tells of keys which other instances end. */
  readonly channelState: () => ChannelState;
  readonly report: Report;
  /** Milliseconds. */
  readonly now: () => number;
}

export interface Readiness {
  /** 200 if it is ready, and 503 if it is not; the body says why, and how the channel stands. */
  answer(): Promise<Answer>;
}

/** The store is asked at most this often, however often others ask. */
const MEMORY_MS = 1_000;

type Status = 'ready' | 'starting' | 'store away';

/**
 * An instance that has not subscribed yet is not ready: it would hear of no key that another one
 * ends. One whose channel breaks later stays ready. Within the cache's own bound it notices those
 * keys without a channel, whereas all instances that lose theirs at once would leave nobody to
 * answer.
 */
export function createReadiness(options: ReadinessOptions): Readiness {
  const { verify, prefix, channelState, report, now } = options;
  let asked: { readonly at: number; readonly isUp: Promise<boolean> } | undefined;

  /** A key that nobody has, so that no cache answers. */
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
