/** A browser without scripts: keeps cookies, follows redirects of one site and sends its forms. */
export interface Visitor {
  /** The last answer: the first that is no redirect, or the redirect that leads away from the site or to `until`. */
  open(url: string, options?: Sent): Promise<Page>;
  /** Sends the form of a page, with these fields in addition to its hidden ones. */
  submit(page: Page, fields: Record<string, string>, options?: { form?: number; until?: string }): Promise<Page>;
  readonly cookies: Map<string, string>;
}

interface Sent {
  form?: Record<string, string> | [string, string][];
  headers?: Record<string, string>;
  until?: string;
}

export interface Page {
  url: string;
  status: number;
  text: string;
  headers: Headers;
  /** Where the answer leads, if it leads away. */
  leadsTo: URL | undefined;
  /** The sentence that the page says to people. */
  problem: string | undefined;
}

/** `at`: the server that answers for `site`, whose name no resolver knows. `ip`: the address that the site's proxy names. */
export function createVisitor({ site, at, ip = '198.51.100.7' }: { site: string; at: string; ip?: string }): Visitor {
  const cookies = new Map<string, string>();

  function take(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const [, path = '/'] = /;\s*path=([^;]+)/i.exec(line) ?? [];
      const key = `${path} ${name}`;
      if (/expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(key);
      else cookies.set(key, value);
    }
  }

  function cookieFor({ pathname }: URL): string {
    return [...cookies]
      .filter(([key]) => pathname.startsWith(key.split(' ')[0] ?? ''))
      .map(([key, value]) => `${key.split(' ')[1]}=${value}`)
      .join('; ');
  }

  async function ask(url: URL, { form, headers = {} }: Sent): Promise<Response> {
    const response = await fetch(at + url.pathname + url.search, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      headers: {
        accept: 'text/html',
        'x-forwarded-for': ip,
        cookie: cookieFor(url),
        ...(form && { origin: new URL(site).origin, 'sec-fetch-site': 'same-origin' }),
        ...headers,
      },
      ...(form && { body: new URLSearchParams(form) }),
    });
    take(response.headers);
    return response;
  }

  async function open(address: string, { until, ...first }: Sent = {}): Promise<Page> {
    let url = new URL(address, site);
    let sent: Sent = first;
    for (let step = 0; step < 10; step += 1) {
      const response = await ask(url, sent);
      const location = response.headers.get('location');
      const next = location === null ? undefined : new URL(location, url);
      const isAway =
        next && (!next.href.startsWith(`${site}/sign-in/`) || (until !== undefined && next.href.startsWith(until)));
      if (!next || isAway) return { ...(await pageOf(url, response)), leadsTo: next };
      await response.body?.cancel();
      url = next;
      sent = {};
    }
    throw new Error(`The way from ${address} does not end`);
  }

  return {
    cookies,
    open,
    async submit({ url, text }, fields, { form = 0, until } = {}) {
      const markup = text.match(/<form[\s\S]*?<\/form>/g)?.[form] ?? '';
      const [, action = url] = /<form[^>]* action="([^"]+)"/.exec(markup) ?? [];
      const hidden = [...markup.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name, value]) => [name, value],
      );
      return await open(new URL(action, url).href, {
        form: { ...Object.fromEntries(hidden), ...fields },
        ...(until && { until }),
      });
    },
  };
}

async function pageOf({ href }: URL, response: Response): Promise<Omit<Page, 'leadsTo'>> {
  const text = await response.text();
  const [, problem] = /<p role="alert">([\s\S]*?)\.?<\/p>/.exec(text) ?? [];
  return { url: href, status: response.status, text, headers: response.headers, problem };
}
