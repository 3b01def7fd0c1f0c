/**
 * Requests by the clock, or as fast as they are answered, in a process of its own. A time is from
 * when a request was due, so that a server that falls behind cannot slow down who asks.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { quantile } from '../harness.ts';
import { answerParent } from './child.ts';

export interface Job {
  readonly url: string;
  readonly credentials: readonly string[];
  /** The status that each is answered with. */
  readonly status: number;
  /** A second; null for as fast as `connections` of them are answered. */
  readonly rate: number | null;
  readonly connections: number;
  readonly seconds: number;
}

export interface Arrived {
  readonly requests: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

async function run({ url, credentials, status, ...job }: Job): Promise<Arrived> {
  const { rate, connections, seconds } = job;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let next = 0;

  async function ask(due: number): Promise<void> {
    next += 1;
    const headers = { Authorization: `Bearer ${credentials[next % credentials.length]}` };
    const [response] = (await once(send(url, { agent, headers }).end(), 'response')) as [
      IncomingMessage,
    ];
    if (response.statusCode !== status) throw new Error(`answered ${response.statusCode}`);
    response.resume();
    await once(response, 'end');
    times.push(performance.now() - due);
  }

  const begun = performance.now();
  const end = begun + 1000 * seconds;
  async function inTurn(): Promise<void> {
    while (performance.now() < end) await ask(performance.now());
  }
  async function byTheClock(perSecond: number): Promise<void> {
    const pending: Promise<void>[] = [];
    for (let count = 0; count < perSecond * seconds; ) {
      const due = begun + (1000 * count) / perSecond;
      if (due > performance.now()) await new Promise<void>((turn) => void setTimeout(turn, 1));
      else {
        pending.push(ask(due));
        count += 1;
      }
    }
    await Promise.all(pending);
  }
  if (rate === null) await Promise.all(Array.from({ length: connections }, inTurn));
  else await byTheClock(rate);
  agent.destroy();
  return { requests: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

await answerParent(async () => ({ ready: true, answer: run }));
