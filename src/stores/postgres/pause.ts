/** A pause between two attempts. */

/** Waits, without keeping an otherwise idle process alive. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: unknown = setTimeout(resolve, milliseconds);
    // A number outside Node, Bun and Deno.
    (timer as { unref?(): void }).unref?.();
  });
}
