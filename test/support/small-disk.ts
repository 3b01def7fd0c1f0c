/** A small file system that fills up quickly. Only root can mount one. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The missing requirement of a small disk, if any. */
export const SMALL_DISK_NEEDS: string | undefined =
  process.getuid?.() === 0 ? undefined : 'a separate file system (only root may mount one)';

export interface SmallDisk {
  readonly path: string;
  /** Uses up all free space. */
  fill(): void;
  empty(): void;
  unmount(): void;
}

export function mountSmall(): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'keyscope-disk-'));
  const options = ['-t', 'tmpfs', '-o', 'size=16m', 'keyscope', path];
  const { status, stderr } = spawnSync('mount', options, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mount: ${stderr}`);
  const filler = join(path, 'filler');
  function unmount(): void {
    spawnSync('umount', ['--lazy', path]);
    rmSync(path, { recursive: true, force: true });
  }
  // Also when a run is cut short.
  process.once('exit', unmount);
  return { path, fill: () => fillUp(filler), empty: () => rmSync(filler), unmount };
}

/** Writes ever smaller blocks. */
function fillUp(path: string): void {
  for (let size = 65_536; size >= 1; size /= 2) {
    const block = Buffer.alloc(size);
    while (append(path, block));
  }
}

function append(path: string, block: Buffer): boolean {
  try {
    writeFileSync(path, block, { flag: 'a' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
