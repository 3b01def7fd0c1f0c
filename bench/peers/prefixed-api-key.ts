/**
 * prefixed-api-key makes and checks strings; where they are kept is the user's affair. As its
 * documentation has it: the short token finds the row, `checkAPIKey` compares the hash of the long
 * one. The rest is that of the plain check.
 */
import { HttpError } from '../by-hand.ts';
import type { Contender } from '../contenders.ts';
import { EXPIRES, type Headers, HeaderValues, idOf, SCOPES } from '../keys.ts';
import { load } from './load.ts';

interface Library {
  generateAPIKey(options: { readonly keyPrefix: string }): Promise<Made>;
  extractShortToken(token: string): string;
  checkAPIKey(token: string, longTokenHash: string): boolean;
}

interface Made {
  readonly token: string;
  readonly shortToken: string;
  readonly longTokenHash: string;
}

interface Row {
  readonly id: string;
  readonly longTokenHash: string;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

const BEARER = /^Bearer +(\w+)$/i;

export async function prefixedApiKey(count: number): Promise<Contender> {
  const library = (await load('prefixed-api-key')) as Library;
  const { generateAPIKey, extractShortToken, checkAPIKey } = library;
  const rows = new Map<string, Row>();
  const tokens: string[] = [];
  while (tokens.length < count) {
    // Hundreds at a time: each waits for its random bytes.
    const made = await Promise.all(
      Array.from({ length: 500 }, () => generateAPIKey({ keyPrefix: 'key' })),
    );
    for (const { token, shortToken, longTokenHash } of made.slice(0, count - tokens.length)) {
      const id = idOf(tokens.push(token) - 1);
      rows.set(shortToken, {
        id,
        longTokenHash,
        scopes: new Set(SCOPES),
        expiresAt: EXPIRES,
        revokedAt: null,
      });
    }
  }
  function one(headers: Headers, scope: string): string {
    const token = BEARER.exec(headers.authorization)?.[1];
    if (token === undefined) throw new HttpError(401, 'Unauthorized');
    const row = rows.get(extractShortToken(token));
    if (row === undefined || !checkAPIKey(token, row.longTokenHash)) {
      throw new HttpError(401, 'Unauthorized');
    }
    if (row.revokedAt !== null) throw new HttpError(401, 'Unauthorized');
    if (row.expiresAt !== null && row.expiresAt <= Date.now()) {
      throw new HttpError(401, 'Unauthorized');
    }
    if (!row.scopes.has(scope)) throw new HttpError(403, 'Forbidden');
    return row.id;
  }
  function enter(list: readonly Headers[], scope: string): string {
    let id = '';
    for (const headers of list) id = one(headers, scope);
    return id;
  }
  return { values: new HeaderValues(tokens, count), enter, id: idOf };
}
