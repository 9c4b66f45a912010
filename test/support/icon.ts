import { expect } from 'vitest';

/** Expects the page to name an icon that its policy allows, and that its server sends to clients without a session. */
export async function expectIcon(pageURL: string, headers: Record<string, string> = {}): Promise<void> {
  const page = await fetch(pageURL, { headers });
  const [, path = ''] = /<link rel="icon" href="([^"]+)"/.exec(await page.text()) ?? [];
  const icon = await fetch(new URL(path, pageURL));

  expect(page.headers.get('content-security-policy')).toMatch(/(^|; ?)img-src 'self'/);
  expect({ path, status: icon.status }).toEqual({ path: expect.stringMatching(/./), status: 200 });
  expect(icon.headers.get('content-type')).toContain('image/svg+xml');
  expect(await icon.text()).toMatch(/^<svg /);
}
