/** What wrong adapters are made of: a right one, with other parts. */
import type { DenialResponse } from 'keyscope';
import { toResponse } from 'keyscope';
import type { AdapterSetup } from 'keyscope/testing';
import { type AdapterParts, challengeOf, RIGHT } from './right-adapter.ts';

/** An adapter with one fault, and the tests of the contract that say so: these and no others. */
export interface WrongAdapter {
  readonly noticedBy: readonly string[];
  /** Makes its parts, for one app. */
  readonly change: () => Partial<AdapterParts>;
}

/** Wrong adapters by what they do. */
export type WrongAdapters = Readonly<Record<string, WrongAdapter>>;

/** Denials with something changed. */
export function denyWith(
  change: (answer: DenialResponse, error: unknown) => DenialResponse,
): Partial<AdapterParts> {
  return {
    deny: (error, setup, req) => change(RIGHT.deny(error, setup, req) as DenialResponse, error),
  };
}

export function withHeaders(
  answer: DenialResponse,
  headers: Record<string, string>,
): DenialResponse {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** Denials without one header. */
export function denyWithout(name: string): Partial<AdapterParts> {
  return denyWith((answer) => {
    const headers = Object.entries(answer.headers).filter(([each]) => each !== name);
    return { ...answer, headers: Object.fromEntries(headers) };
  });
}

/** A denial with another status. */
export function unauthorized(setup: AdapterSetup): DenialResponse {
  return { ...toResponse(undefined, challengeOf(setup)), status: 401 };
}
