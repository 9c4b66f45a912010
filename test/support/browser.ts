/** A browser following redirects: keeps cookies by host and path, and signs in where a page asks for it. */
export interface Browser {
  /** The last answer: the first that is no redirect, or the first whose address begins with `until`. */
  visit(url: string, options?: { as?: string; until?: string; headers?: Record<string, string> }): Promise<Visit>;
  /** Keeps the cookies of an answer to a fetch of a page. */
  take(url: string, headers: Headers): void;
}

export interface Visit {
  url: string;
  status: number;
  text: string;
  headers: Headers;
}

interface Cookie {
  host: string;
  path: string;
  name: string;
  value: string;
}

/** `hosts`: addresses of host names that no resolver knows. */
export function createBrowser(hosts: Readonly<Record<string, string>> = {}): Browser {
  const cookies: Cookie[] = [];

  function take(url: URL, headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const [, path = '/'] = /;\s*path=([^;]+)/i.exec(line) ?? [];
      const isRemoved = /;\s*(max-age=0|expires=Thu, 01 Jan 1970)/i.test(line);
      const before = cookies.findIndex((old) => old.host === url.host && old.name === name && old.path === path);
      if (before >= 0) cookies.splice(before, 1);
      if (!isRemoved) cookies.push({ host: url.host, path, name, value });
    }
  }

  function cookieFor({ host, pathname }: URL): string {
    const own = cookies.filter((cookie) => cookie.host === host && pathname.startsWith(cookie.path));
    return own.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  async function ask(url: URL, headers: Record<string, string>): Promise<Response> {
    const folder = new URL(url.pathname + url.search, hosts[url.origin] ?? url.origin);
    const response = await fetch(folder, { redirect: 'manual', headers: { ...headers, cookie: cookieFor(url) } });
    take(url, response.headers);
    return response;
  }

  return {
    take: (url, headers) => take(new URL(url), headers),
    async visit(start, { as, until, headers = {} } = {}) {
      let url = new URL(start);
      for (let step = 0; step < 12; step += 1) {
        if (until !== undefined && url.href.startsWith(until)) return nowhere(url);
        const response = await ask(url, step === 0 ? headers : {});
        const location = response.headers.get('location');
        if (!location) return await arrived(url, response);
        url = answering(new URL(location, url), as);
      }
      throw new Error(`The way from ${start} does not end`);
    },
  };
}

async function arrived({ href }: URL, response: Response): Promise<Visit> {
  return { url: href, status: response.status, text: await response.text(), headers: response.headers };
}

/** Chooses the account, where the tests' provider asks who signs in. */
function answering(url: URL, as: string | undefined): URL {
  if (as !== undefined && url.pathname.startsWith('/interaction/')) url.searchParams.set('as', as);
  return url;
}

/** A visit that no server has answered. */
function nowhere({ href }: URL): Visit {
  return { url: href, status: 0, text: '', headers: new Headers() };
}
