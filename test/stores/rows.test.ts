import { describe, expect, it } from 'vitest';
import { toRecord } from '../../src/stores/rows.js';

describe('toRecord', () => {
  it('reads times that a driver gave as text or bigint, and leaves what is no number', () => {
    const row = {
      created_at: '1700000000000',
      expires_at: 5n,
      revoked_at: null,
      retire_at: '9'.repeat(19),
      scopes: '[',
    };
    const { createdAt, expiresAt, revokedAt, retireAt, scopes } = toRecord(row);
    expect([createdAt, expiresAt, revokedAt, retireAt, scopes]).toEqual([
      1_700_000_000_000,
      5,
      null,
      '9'.repeat(19),
      '[',
    ]);
  });
});
