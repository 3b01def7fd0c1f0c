/** The reference service, compared with its committed lock and its OpenAPI document. */
import { type AccessLock, lockContract, parseLock } from 'keyscope/lock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../examples/hono/server.ts';
import { openApi } from '../../examples/platform/host/openapi.ts';
import { lockOfPlatform } from '../../examples/platform/lock.ts';
import { APPS } from '../support/platform-apps.ts';
import { readProjectFile } from '../support/source.ts';
import { createPlatform, type Platform } from './http-harness.ts';

const publicUrl = 'http://localhost';
const committed = readProjectFile('examples/platform/keyscope.lock.json');

let platform: Platform;
beforeAll(async () => {
  platform = await createPlatform();
});
afterAll(() => platform.db.close());

describe.each(Object.entries(APPS))('the lock on %s', (_, make) => {
  lockContract(it, async () => {
    return { committed, lock: lockOfPlatform(await make({ ...platform, publicUrl })) };
  });

  it('differs if a route does not have a guard', async () => {
    const app = createApp({ ...platform, publicUrl });
    app.get('/v1/threats/:id/notes', (c) => c.text('done'));
    const bodies: (() => Promise<void>)[] = [];
    const make = () => ({ committed, lock: lockOfPlatform(app) });
    lockContract((_name, body) => bodies.push(body), make);
    for (const body of bodies) await expect(body()).rejects.toThrow('GET /v1/threats/:id/notes');
  });
});

describe('the document', () => {
  interface Documented {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }
  interface Operation {
    readonly operationId: string;
    readonly security: readonly { readonly bearerAuth?: readonly string[] }[];
  }

  /** The part that lock and document share: each route with its scopes; null without a guard. */
  function needsOf({ routes }: AccessLock): Record<string, readonly string[] | null> {
    const rest = [...routes].filter(([name]) => !name.startsWith('TOOL '));
    const needs = rest.map(([name, { operations, scopes }]) => {
      const shown = name.replaceAll(/:([a-z]+)/g, '{$1}');
      return [shown, operations.length === 0 ? null : scopes] as const;
    });
    return Object.fromEntries(needs);
  }

  it('requires the same scopes as the lock for each route', () => {
    const { paths } = openApi(publicUrl) as unknown as Documented;
    const documented: Record<string, readonly string[] | null> = {
      // These are not part of the interface.
      'GET /readyz': null,
      'GET /v1/openapi.json': null,
    };
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        const [scheme] = security;
        documented[`${method.toUpperCase()} ${path}`] = scheme?.bearerAuth ?? null;
      }
    }
    expect(documented).toEqual(needsOf(parseLock(committed)));
  });
});
