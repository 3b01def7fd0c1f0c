/** A call of the store whose answer several callers wait for. */
import type { CallOptions } from '../core/store.js';

/**
 * One call, and who waits for it: what the store is told. It starts without callers. The signal is
 * of the call's own, because one caller that gives up must not take the answer from the others; it
 * is aborted once nobody waits any more.
 *
 * Signals cost more than a look-up that misses: none is made or watched before the store asks.
 */
export class SharedCall implements CallOptions {
  readonly #callers: (CallOptions | undefined)[] = [];
  // Who has no signal waits to the end.
  readonly #waiting = new Set<AbortSignal | undefined>();
  #abandoned: AbortController | undefined;

  get signal(): AbortSignal {
    this.#abandoned ??= this.#startWatching();
    return this.#abandoned.signal;
  }

  /** Adds a caller. False if nobody waited any more: the store may have given up on the answer. */
  join(caller: CallOptions | undefined): boolean {
    if (this.#abandoned?.signal.aborted === true) return false;
    this.#callers.push(caller);
    if (this.#abandoned !== undefined) this.#watch(caller);
    return true;
  }

  /** Aborts the call, although callers may wait: they were answered otherwise. */
  giveUp(): void {
    this.#abandoned ??= new AbortController();
    this.#abandoned.abort();
  }

  /** Lets go of the callers' signals, once there is an answer. */
  end(): void {
    for (const signal of this.#waiting) signal?.removeEventListener('abort', this.#leave);
    this.#waiting.clear();
    this.#callers.length = 0;
  }

  #startWatching(): AbortController {
    const controller = new AbortController();
    for (const caller of this.#callers) this.#watch(caller);
    if (this.#callers.length > 0 && this.#waiting.size === 0) controller.abort();
    return controller;
  }

  #watch(caller: CallOptions | undefined): void {
    const signal = caller?.signal;
    if (signal?.aborted === true) return;
    this.#waiting.add(signal);
    signal?.addEventListener('abort', this.#leave, { once: true });
  }

  readonly #leave = ({ target }: Event): void => {
    this.#waiting.delete(target as AbortSignal);
    if (this.#waiting.size === 0) this.#abandoned?.abort();
  };
}
