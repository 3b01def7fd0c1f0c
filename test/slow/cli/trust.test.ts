/** `keyscope trust` as a process, and the job that it prints: its tokens act as the key. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { createKeyring, isAccessError, type KeyInfo } from 'keyscope';
import { createKeylessVerifier, githubActions } from 'keyscope/keyless';
import { keyInfoSchema } from 'keyscope/schemas';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  ENTITY,
  openPlace,
  PEPPER,
  type Place,
  shell,
  sqliteConfig,
} from '../../support/command.ts';
import { forge } from '../../support/jwt.ts';
import { AUDIENCE, CI, STRANGER } from '../../support/keyless.ts';
import { catalog } from '../../support/keyring.ts';

const ISSUERS = [{ ...githubActions(), jwks: { keys: [CI.publicKey] } }];

/** A config whose keyring accepts tokens of GitHub, signed with the key of the test. */
const CONFIG = sqliteConfig(`
  import { createKeylessVerifier, githubActions } from 'keyscope/keyless';
  const jwks = ${JSON.stringify({ keys: [CI.publicKey] })};
  const audience = '${AUDIENCE}';
  const tokens = createKeylessVerifier({ audience, issuers: [{ ...githubActions(), jwks }] });
`).replace('peppers, deployment }', 'peppers, deployment, tokens }');

const NEW = ['--name', 'Deploy', '--scopes', 'threats:read', '--expires', '90d'];
const ON = ['--entity', ENTITY, ...NEW];
const IDS = ['--repository-id', '123', '--owner-id', '45', '--branch', 'main'];
const TRUST = ['trust', '--github', 'acme/app', ...IDS, ...ON];

let place: Place;
beforeAll(() => {
  place = openPlace(CONFIG);
});
afterAll(() => place.remove());

/** Makes a key, and returns what the command prints as JSON. */
async function made(...more: readonly string[]) {
  const { stdout, stderr, exit } = await place.run([...TRUST, '--json', ...more]);
  expect(exit, stderr).toBe(0);
  return JSON.parse(stdout) as { readonly keyId: string; readonly info: KeyInfo };
}

// ── The service and GitHub ───────────────────────────────────────────────────────────────────────

/** The claims of GitHub that the key is about. */
const JOB = {
  iss: githubActions().issuer,
  repository_id: '123',
  repository_owner_id: '45',
  ref: 'refs/heads/main',
  event_name: 'push',
};

function tokenFor(aud: string | null, claims: object = {}, pair = CI): string {
  const iat = Math.floor(Date.now() / 1000);
  return forge(pair, { typ: 'JWT' }, { ...JOB, aud, iat, exp: iat + 300, ...claims });
}

/** Opens the file of the command with the keyring of a service. */
function openService() {
  const client = new DatabaseSync(place.file('keys.db'));
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store: sqliteStore(client),
    peppers: [{ id: 'p1', secret: PEPPER }],
    deployment: 'acme test',
    tokens: createKeylessVerifier({ audience: AUDIENCE, issuers: ISSUERS }),
  });
  return { keyring, close: () => client.close() };
}

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

/** Serves tokens as GitHub does, and the service that accepts them. Returns its address. */
async function listen(service: ReturnType<typeof openService>, claims: object): Promise<string> {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const { authorization = '' } = request.headers;
    const isAsked = pathname === '/token' && authorization === 'Bearer of the job';
    const audience = searchParams.get('audience');
    const answer = isAsked
      ? Promise.resolve({ value: tokenFor(audience, claims) })
      : service.keyring.authenticate(authorization).then(({ keyId }) => ({ actsAs: keyId }));
    answer.then(
      (body) => response.end(JSON.stringify(body)),
      () => response.writeHead(401).end(),
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const hasTools = ['curl', 'jq'].every((name) => spawnSync(name, ['--version']).status === 0);

/** Runs the step of a printed job as GitHub does. */
async function runJob(printed: string, address: string) {
  const { jobs } = parse(printed) as {
    readonly jobs: { readonly call: { readonly steps: readonly [{ readonly run: string }] } };
  };
  const script = jobs.call.steps[0].run.replace('<URL of the service>', `${address}/reports`);
  return shell(`set -e; ${script}`, place.file(''), {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${address}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of the job',
  });
}

describe('keyscope trust', () => {
  it('makes a key as which a token of the job acts, and no other token', async () => {
    const { keyId, info } = await made();
    expect(keyInfoSchema.parse(info)).toMatchObject({ entityId: ENTITY, scopes: ['threats:read'] });
    const service = openService();
    const enter = (token: string) => service.keyring.authenticate(`Bearer ${token}`);
    const aud = `${AUDIENCE}#${keyId}`;
    const entered = await enter(tokenFor(aud));
    expect(entered).toMatchObject({ via: 'keyless', keyId, scopes: ['threats:read'] });
    const refused = [
      tokenFor(aud, { ref: 'refs/heads/other' }),
      tokenFor(aud, { repository_id: '124' }),
      tokenFor(aud, { event_name: 'pull_request_target' }),
      tokenFor(AUDIENCE),
      tokenFor(aud, {}, STRANGER),
    ];
    for (const token of refused) {
      const error: unknown = await enter(token).catch((reason: unknown) => reason);
      expect(isAccessError(error), String(error)).toBe(true);
    }
    service.close();
  });

  it.skipIf(!hasTools)('prints a job that acts as the key', async () => {
    const { stdout, stderr } = await place.run([...TRUST, '--audience', AUDIENCE]);
    const [head = '', printed = ''] = stdout.split('\n\n');
    const [, keyId = ''] = /^key id +(\S+)$/m.exec(head) ?? [];
    expect(stderr).toBe('The key has no secret: tokens with this audience act as it.\n');
    const service = openService();
    const ran = await runJob(printed, await listen(service, {}));
    expect(ran).toMatchObject({ exit: 0, stderr: '' });
    // The token is masked before anything else is printed.
    expect(ran.stdout).toMatch(/^::add-mask::ey[\w.-]+\n\{"actsAs":"[0-9a-f-]{36}"\}$/);
    expect(ran.stdout).toContain(`"actsAs":"${keyId}"`);
    server?.close();
    const other = await runJob(printed, await listen(service, { ref: 'refs/heads/other' }));
    expect(other.exit).not.toBe(0);
    expect(other.stdout).not.toContain('actsAs');
    service.close();
  });

  it('reads claims that are repeated', async () => {
    const claims = ['repository_id=123', 'ref=refs/heads/a', 'ref=refs/heads/b'];
    const all = claims.flatMap((claim) => ['--claim', claim]);
    const args = ['trust', '--issuer', githubActions().issuer, ...all, ...ON, '--json'];
    const { stdout } = await place.run(args);
    const { keyId } = JSON.parse(stdout) as { readonly keyId: string };
    const service = openService();
    const enter = (ref: string) =>
      service.keyring.authenticate(`Bearer ${tokenFor(`${AUDIENCE}#${keyId}`, { ref })}`);
    for (const ref of ['refs/heads/a', 'refs/heads/b']) {
      expect(await enter(ref)).toMatchObject({ keyId });
    }
    await expect(enter('refs/heads/c')).rejects.toThrow();
    service.close();
  });

  it('makes keys that list and show without a hint, and that rotate refuses', async () => {
    const { keyId } = await made();
    const listed = await place.run(['list', '--entity', ENTITY]);
    expect(listed.stdout).toMatch(new RegExp(`^${keyId}  \\(keyless\\) +live `, 'm'));
    const shown = await place.run(['show', keyId, '--entity', ENTITY]);
    expect(shown.stdout).toMatch(/^trust +\{.*"ref":"refs\/heads\/main".*\}$/m);
    const rotate = ['rotate', keyId, '--entity', ENTITY, '--overlap', '1d', '--yes'];
    const { exit, stdout } = await place.run(rotate);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    const revoke = ['revoke', keyId, '--entity', ENTITY, '--yes'];
    expect(await place.run(revoke)).toMatchObject({ exit: 0 });
  });

  it('asks for the ids with exit code 2, and prints nothing else', async () => {
    const { exit, stdout, stderr } = await place.run([
      ...['trust', '--github', 'acme/app', '--branch', 'main'],
      ...ON,
    ]);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toBe(
      'keyscope: keyscope trust --github needs --repository-id <number> and --owner-id <number>. ' +
        'This prints them: gh api repos/acme/app ' +
        `--jq '"--repository-id \\(.id) --owner-id \\(.owner.id)"'\n`,
    );
  });

  it('creates no key without tokens in the config, and says what to pass', async () => {
    const bare = openPlace();
    const { exit, stdout, stderr } = await bare.run(TRUST);
    expect({ exit, stdout }).toEqual({ exit: 3, stdout: '' });
    expect(stderr).toContain('`tokens: createKeylessVerifier({ audience, issuers })`');
    expect((await bare.run(['list', '--entity', ENTITY])).stdout).toBe('');
    bare.remove();
  });

  it.skipIf(!existsSync('/dev/full'))('says how to revoke a key that it cannot show', async () => {
    const { stderr, exit } = await shell(`${place.line(TRUST)} >/dev/full`, place.file(''));
    expect(exit).toBe(4);
    const [, keyId = ''] = /Revoke it: keyscope revoke (\S+) --entity/.exec(stderr) ?? [];
    const shown = await place.run(['show', keyId, '--entity', ENTITY, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ state: 'live' });
  });
});
