/** All fuzz targets by name, from the edge inwards. */
import { authorization } from './authorization.ts';
import { keyring } from './credentials.ts';
import { cursor } from './cursors.ts';
import { issue } from './issue-input.ts';
import type { Target } from './judge.ts';
import { key } from './keys.ts';
import { record } from './rows.ts';
import { scopes } from './scopes.ts';
import { tokens } from './tokens.ts';

export const TARGETS: Readonly<Record<string, Target>> = {
  authorization,
  key,
  scopes,
  tokens,
  keyring,
  record,
  issue,
  cursor,
};
