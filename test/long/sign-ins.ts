/**
 * `npm run test:sign-ins`: whether sign-ins to the console can stall the checks of keys and
 * tokens. Sign-ins arrive by the clock, whether or not what came before is answered, each from an
 * address of its own, so that no limit by address stops them; beside them, `GET /me` with a key and
 * with a token, and a member who has signed in from the same place before. Prints a table; the exit
 * code says whether the slowest check took less than half a second, and whether the member got in
 * each time. `-- --quick` takes five seconds instead of twenty.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environmentWith, startPlatform } from '../support/service-process.ts';

const SECONDS = process.argv.includes('--quick') ? 5 : 20;
const SIGN_INS_A_SECOND = 200;
const CHECKS_A_SECOND = 50;
const MEMBERS_A_SECOND = 1;
const LIMIT_MS = 500;
/** What is not answered by then counts as this slow. */
const GIVE_UP_MS = 60_000;

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** An address of this machine's, of which each counts as another visitor. */
  readonly from?: string;
}

interface Answered {
  readonly status: number;
  readonly ms: number;
  readonly body: string;
}

const agent = new Agent({ keepAlive: true });

function send(origin: string, { from, body, ...init }: Sent): Promise<Answered> {
  const began = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, text: string): void =>
      resolve({ status, ms: performance.now() - began, body: text });
    // The checks keep their connections, and each sign-in has one of its own.
    const where = from === undefined ? { agent } : { agent: false, localAddress: from };
    const { path, ...others } = init;
    const sent = request(`${origin}${path}`, { ...others, ...where, timeout: GIVE_UP_MS });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => end(0, ''));
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => end(response.statusCode ?? 0, Buffer.concat(chunks).toString()));
      response.on('error', () => end(0, ''));
    });
    sent.end(body);
  });
}

/** Sends so many a second, by the clock, and waits for all answers. */
async function flood(
  aSecond: number,
  make: (index: number) => Promise<Answered>,
): Promise<readonly Answered[]> {
  const began = performance.now();
  const answers: Promise<Answered>[] = [];
  while (performance.now() - began < SECONDS * 1000) {
    const due = ((performance.now() - began) / 1000) * aSecond;
    while (answers.length < due) answers.push(make(answers.length));
    await sleep(5);
  }
  return Promise.all(answers);
}

interface Credentials {
  readonly email: string;
  readonly password: string;
}

function signIn(origin: string, account: Credentials, from?: string): Promise<Answered> {
  return send(origin, {
    method: 'POST',
    path: '/console/sign-in',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin },
    body: String(new URLSearchParams({ ...account })),
    ...(from !== undefined && { from }),
  });
}

function guess(origin: string, index: number): Promise<Answered> {
  const account = { email: `nobody-${index}@example.com`, password: 'guess' };
  const from = `127.${1 + (index % 250)}.${(index >> 8) % 250}.${2 + (index % 200)}`;
  return signIn(origin, account, from);
}

/** What the service said on its first run. */
function memberIn(out: string): Credentials {
  const said = /sign in as (\S+) with the password (\S+) /.exec(out);
  return { email: said?.[1] ?? '', password: said?.[2] ?? '' };
}

async function tokenFor(origin: string, key: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: key,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
  const answered = await fetch(`${origin}/v1/token`, { method: 'POST', body });
  const { access_token: token } = (await answered.json()) as { readonly access_token: string };
  return token;
}

function summary(answers: readonly Answered[]): Readonly<Record<string, unknown>> {
  const sorted = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (part: number): number => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
  const statuses: Record<string, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  const table = {
    requests: answers.length,
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
    'max ms': at(1),
  };
  return { ...table, statuses: JSON.stringify(statuses) };
}

async function measure(folder: string): Promise<boolean> {
  const env = environmentWith(join(folder, 'cache'));
  const server = await startPlatform(join(folder, 'platform'), [], env);
  const { origin, out } = server;
  const key = /export KEY=(\S+)/.exec(out)?.[1] ?? '';
  const token = await tokenFor(origin, key);
  const check = (credential: string) => () =>
    send(origin, {
      method: 'GET',
      path: '/v1/me',
      headers: { Authorization: `Bearer ${credential}` },
    });
  const member = memberIn(out);
  await signIn(origin, member);
  const [guesses, members, byKey, byToken] = await Promise.all([
    flood(SIGN_INS_A_SECOND, (index) => guess(origin, index)),
    flood(MEMBERS_A_SECOND, () => signIn(origin, member)),
    flood(CHECKS_A_SECOND, check(key)),
    flood(CHECKS_A_SECOND, check(token)),
  ]);
  agent.destroy();
  await server.stop();
  console.table({
    'sign-ins of strangers': summary(guesses),
    'sign-ins of a member': summary(members),
    '/me with a key': summary(byKey),
    '/me with a token': summary(byToken),
  });
  const checks = [...byKey, ...byToken];
  const areFast = checks.every(({ status, ms }) => status === 200 && ms < LIMIT_MS);
  return areFast && members.every(({ status }) => status === 303);
}

const folder = mkdtempSync(join(tmpdir(), 'keyscope-sign-ins-'));
try {
  const isWell = await measure(folder);
  const problem = `A check took longer than ${LIMIT_MS} ms, or a member did not get in.`;
  console.log(isWell ? 'All checks were fast, and the member got in.' : problem);
  process.exitCode = isWell ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
