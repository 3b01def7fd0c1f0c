/** autocannon in a process of its own, which stays warm for the whole run. */
import { load } from '../peers/load.ts';
import { answerParent } from './child.ts';

export interface Job {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly seconds: number;
  readonly connections: number;
}

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  /** The processor time that making the load took. */
  readonly worked: number;
}

interface Client {
  setRequests(requests: readonly object[]): void;
}

interface Result {
  readonly requests: { readonly total: number };
  readonly start: Date;
  readonly finish: Date;
  readonly non2xx: number;
  readonly errors: number;
}

type Autocannon = (options: object) => Promise<Result>;

async function run(
  autocannon: Autocannon,
  { url, tokens, seconds, connections }: Job,
): Promise<Load> {
  let clients = 0;
  // A share of the tokens for each connection, in requests that are built beforehand.
  const setupClient = (client: Client) => {
    const first = clients % tokens.length;
    clients += 1;
    const own = tokens.filter((_, i) => i % connections === first);
    client.setRequests(own.map((token) => ({ headers: { Authorization: `Bearer ${token}` } })));
  };
  const before = process.cpuUsage();
  // It looks at the clock each `sampleInt` milliseconds, and ends at the first look after its time.
  const options = { url, connections, duration: seconds, sampleInt: 20, setupClient };
  const { requests, start, finish, non2xx, errors } = await autocannon(options);
  const { user, system } = process.cpuUsage(before);
  if (non2xx + errors > 0) {
    throw new Error(`${url}: ${non2xx} answers other than 200, ${errors} failures`);
  }
  return {
    requests: requests.total,
    seconds: (finish.getTime() - start.getTime()) / 1000,
    worked: (user + system) / 1e6,
  };
}

await answerParent(async () => {
  const { default: autocannon } = (await load('autocannon')) as { default: Autocannon };
  return { ready: true, answer: (job: Job) => run(autocannon, job) };
});
