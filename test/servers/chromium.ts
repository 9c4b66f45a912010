import { type Found, findProgram } from './debian-programs.ts';

/** A browser without a window. Debian's headless shell is the smallest one there is. */
export function findChromium(): Promise<Found> {
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'] as const;
  return findProgram([...names], 'chromium-headless-shell');
}
