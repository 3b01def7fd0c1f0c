/** What is fuzzed, by name. */
import type { Target } from './judge.ts';
import { cursor, issue, keyring, record, tokens } from './service.ts';
import { authorization, key, scopes } from './texts.ts';

// biome-ignore format: from the edge inwards
export const TARGETS: Readonly<Record<string, Target>> = {
  authorization, key, scopes, tokens, keyring, record, issue, cursor,
};
