/** A client that breaks off, like a process that sends a command and dies. */
import type { Redis } from 'ioredis';
import type { RedisClient } from 'keyscope/stores/redis';

/** The fate of the command at which it breaks. */
export const BREAKS = ['is not sent', 'is sent, and its answer lost', 'is sent twice'] as const;
export type Break = (typeof BREAKS)[number];

/** A client and the switch that makes it break. */
export interface Breaking {
  readonly client: RedisClient;
  /** Counts commands from here. */
  arm(): void;
}

/**
 * Breaks at the n-th command after `arm`. That command and all later ones fail, except with `is sent
 * twice`, where all of them succeed.
 */
export function breaking(real: Redis, n: number, how: Break): Breaking {
  let armed = false;
  let sent = 0;
  async function call(command: string, ...args: string[]): Promise<unknown> {
    const send = () => real.call(command, ...args);
    if (!armed) return send();
    sent += 1;
    if (sent < n) return send();
    if (how === 'is sent twice') {
      if (sent === n) await send();
      return send();
    }
    if (sent === n && how === 'is sent, and its answer lost') await send();
    throw new Error('the process has ended');
  }
  return {
    client: { call },
    arm() {
      armed = true;
    },
  };
}
