/** Parts of wrong adapters: a correct adapter with some parts replaced. */
import type { DenialResponse } from 'keyscope';
import { toResponse } from 'keyscope';
import type { AdapterSetup } from 'keyscope/testing';
import { type AdapterParts, challengeOf, RIGHT } from './right-adapter.ts';

/** An adapter with one fault, and exactly the tests of the contract that fail on it. */
export interface WrongAdapter {
  readonly noticedBy: readonly string[];
  /** Makes the replaced parts for one app. */
  readonly change: () => Partial<AdapterParts>;
}

/** Wrong adapters by their fault. */
export type WrongAdapters = Readonly<Record<string, WrongAdapter>>;

/** Changes the denials. */
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

/** Removes a header from the denials. */
export function denyWithout(name: string): Partial<AdapterParts> {
  return denyWith((answer) => {
    const headers = Object.entries(answer.headers).filter(([each]) => each !== name);
    return { ...answer, headers: Object.fromEntries(headers) };
  });
}

/** Returns a denial with the status 401. */
export function unauthorized(setup: AdapterSetup): DenialResponse {
  return { ...toResponse(undefined, challengeOf(setup)), status: 401 };
}
