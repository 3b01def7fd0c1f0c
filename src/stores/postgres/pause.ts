/** A pause between two attempts. */

/** Waits, but does not keep a process alive that has nothing else to do. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: unknown = setTimeout(resolve, milliseconds);
    // A number outside Node, Bun and Deno.
    (timer as { unref?(): void }).unref?.();
  });
}
