/** What a browser does on its way through redirects: keeps cookies by host and path, and says who it is where it is asked. */
export interface Browser {
  /** Where the way ends: the first answer that is no redirect, or the first that asks for `until`. */
  visit(url: string, options?: { as?: string; until?: string; headers?: Record<string, string> }): Promise<Visit>;
  /** Takes the cookies of an answer that came to a page by fetch. */
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

/** `hosts`: where names are really found, which no other resolver knows. */
export function createBrowser(hosts: Readonly<Record<string, string>> = {}): Browser {
  const cookies: Cookie[] = [];

  function take(url: URL, headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const [, path = '/'] = /;\s*path=([^;]+)/i.exec(line) ?? [];
      const isGone = /;\s*(max-age=0|expires=Thu, 01 Jan 1970)/i.test(line);
      const before = cookies.findIndex((old) => old.host === url.host && old.name === name && old.path === path);
      if (before >= 0) cookies.splice(before, 1);
      if (!isGone) cookies.push({ host: url.host, path, name, value });
    }
  }

  function cookieFor({ host, pathname }: URL): string {
    const own = cookies.filter((cookie) => cookie.host === host && pathname.startsWith(cookie.path));
    return own.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  async function ask(url: URL, headers: Record<string, string>): Promise<Response> {
    const place = new URL(url.pathname + url.search, hosts[url.origin] ?? url.origin);
    const response = await fetch(place, { redirect: 'manual', headers: { ...headers, cookie: cookieFor(url) } });
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

/** Who it is, where a provider of ours asks. */
function answering(url: URL, as: string | undefined): URL {
  if (as !== undefined && url.pathname.startsWith('/interaction/')) url.searchParams.set('as', as);
  return url;
}

/** Where nobody has asked. */
function nowhere({ href }: URL): Visit {
  return { url: href, status: 0, text: '', headers: new Headers() };
}
