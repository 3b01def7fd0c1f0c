/** A pause between two attempts. */
import { startTimer } from '../../core/thenable.js';

/** Waits, without keeping an otherwise idle process alive. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    startTimer(resolve, milliseconds);
  });
}
