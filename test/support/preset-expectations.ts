import type { JsonObject } from '#shared/core/json.ts';

/** The fields of a query; the request that the vendor describes; its body; headers of this call. */
type Expected = [fields: JsonObject, line: string, body?: string, headers?: Record<string, string>];

interface Vendor {
  headers: Record<string, string>;
  contentType: string;
  probe: string;
  calls: Readonly<Record<string, Expected>>;
}

export const SID = `AC${'0'.repeat(32)}`;

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

/**
 * Written from what the vendors publish, call by call, and not from the presets: method, address, names and places of the
 * parameters, encoding of the body, credentials. `ops/guides/datasources-http.md` says what was read.
 */
export const vendors: Readonly<Record<string, Vendor>> = {
  airtable: {
    headers: { authorization: 'Bearer at-key' },
    contentType: JSON_TYPE,
    probe: '/meta/whoami',
    calls: {
      list: [
        {
          tableName: 'My table',
          filterByFormula: '{A}=1',
          view: 'V',
          onlyFields: ['A', 'B'],
          sortField: 'A',
          sortDirection: 'desc',
          maxRecords: 5,
        },
        'GET /base/My table?filterByFormula={A}=1&view=V&fields[]=A&fields[]=B&sort[0][field]=A&sort[0][direction]=desc&pageSize=5',
      ],
      find: [{ tableName: 'My table', recordId: 'rec1' }, 'GET /base/My table/rec1'],
      create: [
        { tableName: 'T', fields: { A: 1 }, typecast: true },
        'POST /base/T',
        '{"fields":{"A":1},"typecast":true}',
      ],
      update: [
        { tableName: 'T', recordId: 'r', fields: { A: 1 } },
        'PATCH /base/T/r',
        '{"fields":{"A":1},"typecast":false}',
      ],
      replace: [
        { tableName: 'T', recordId: 'r', fields: { A: 1 } },
        'PUT /base/T/r',
        '{"fields":{"A":1},"typecast":false}',
      ],
      delete: [{ tableName: 'T', recordId: 'r' }, 'DELETE /base/T/r'],
      createMany: [
        { tableName: 'T', records: [{ fields: { A: 1 } }] },
        'POST /base/T',
        '{"records":[{"fields":{"A":1}}],"typecast":false}',
      ],
      updateMany: [
        { tableName: 'T', records: [{ id: 'r', fields: { A: 1 } }] },
        'PATCH /base/T',
        '{"records":[{"id":"r","fields":{"A":1}}],"typecast":false}',
      ],
      upsertMany: [
        { tableName: 'T', records: [{ fields: { A: 1 } }], mergeOn: ['A'] },
        'PATCH /base/T',
        '{"records":[{"fields":{"A":1}}],"typecast":false,"performUpsert":{"fieldsToMergeOn":["A"]}}',
      ],
      deleteMany: [{ tableName: 'T', recordIds: ['r1', 'r2'] }, 'DELETE /base/T?records[]=r1&records[]=r2'],
      tables: [{}, 'GET /meta/bases/base/tables'],
      comments: [{ tableName: 'T', recordId: 'r' }, 'GET /base/T/r/comments?pageSize=100'],
      createComment: [{ tableName: 'T', recordId: 'r', comment: 'hi' }, 'POST /base/T/r/comments', '{"text":"hi"}'],
    },
  },

  stripe: {
    headers: { authorization: 'Bearer sk-key', 'stripe-version': '2024-06-20' },
    contentType: FORM,
    probe: '/balance',
    calls: {
      ...stripe('customers', '/customers', ['search']),
      'customers.delete': [{ resourceId: 'x' }, 'DELETE /customers/x'],
      ...stripe('charges', '/charges', ['search', 'capture']),
      ...stripe('paymentIntents', '/payment_intents', ['search', 'confirm', 'capture', 'cancel']),
      ...stripe('invoices', '/invoices', ['search', 'finalize', 'pay', 'send', 'void']),
      'invoices.delete': [{ resourceId: 'x' }, 'DELETE /invoices/x'],
      ...stripe('subscriptions', '/subscriptions', ['search']),
      'subscriptions.cancel': [{ resourceId: 'x' }, 'DELETE /subscriptions/x'],
      ...stripe('products', '/products', ['search']),
      'products.delete': [{ resourceId: 'x' }, 'DELETE /products/x'],
      ...stripe('prices', '/prices', ['search']),
      ...stripe('refunds', '/refunds', ['cancel']),
      'balanceTransactions.list': [{ limit: 1 }, 'GET /balance_transactions?limit=1'],
      'balanceTransactions.retrieve': [{ resourceId: 'x' }, 'GET /balance_transactions/x'],
      ...stripe('payouts', '/payouts', ['cancel']),
      'balance.retrieve': [{}, 'GET /balance'],
    },
  },

  twilio: {
    headers: { authorization: basic(`${SID}:tw-token`) },
    contentType: FORM,
    probe: `/Accounts/${SID}.json`,
    calls: {
      ...twilio('messages', `/Accounts/${SID}/Messages`),
      'messages.create': [
        { params: { To: '+1', From: '+2', Body: 'hi & bye' } },
        `POST /Accounts/${SID}/Messages.json`,
        'To=%2B1&From=%2B2&Body=hi+%26+bye',
      ],
      ...twilio('calls', `/Accounts/${SID}/Calls`),
      ...twilio('phonenumbers', `/Accounts/${SID}/IncomingPhoneNumbers`),
      ...without(twilio('recordings', `/Accounts/${SID}/Recordings`), ['recordings.create', 'recordings.update']),
      ...without(twilio('accounts', '/Accounts'), ['accounts.delete']),
      'balance.fetch': [{}, `GET /Accounts/${SID}/Balance.json`],
    },
  },

  sendgrid: {
    headers: { authorization: 'Bearer sg-key' },
    contentType: JSON_TYPE,
    probe: '/scopes',
    calls: {
      'stats.list': [
        { startDate: '2026-01-01', endDate: '2026-01-31', aggregatedBy: 'day' },
        'GET /stats?start_date=2026-01-01&end_date=2026-01-31&aggregated_by=day',
      ],
      'messages.send': [
        { params: { personalizations: [{ to: [{ email: 'a@example.com' }] }], from: { email: 'b@example.com' } } },
        'POST /mail/send',
        '{"personalizations":[{"to":[{"email":"a@example.com"}]}],"from":{"email":"b@example.com"}}',
      ],
      'templates.list': [{ limit: 1_000 }, 'GET /templates?generations=legacy,dynamic&page_size=200'],
      'templates.get': [{ resourceId: 't' }, 'GET /templates/t'],
      'templates.create': [{ params: { name: 'n' } }, 'POST /templates', '{"name":"n"}'],
      'templates.update': [{ resourceId: 't', params: { name: 'n' } }, 'PATCH /templates/t', '{"name":"n"}'],
      'templates.delete': [{ resourceId: 't' }, 'DELETE /templates/t'],
      'contacts.list': [{}, 'GET /marketing/contacts'],
      'contacts.get': [{ resourceId: 'c' }, 'GET /marketing/contacts/c'],
      'contacts.count': [{}, 'GET /marketing/contacts/count'],
      'contacts.search': [
        { searchQuery: "email LIKE 'a%'" },
        'POST /marketing/contacts/search',
        '{"query":"email LIKE \'a%\'"}',
      ],
      'contacts.upsert': [
        { contacts: [{ email: 'a@example.com' }], listIds: ['l'] },
        'PUT /marketing/contacts',
        '{"list_ids":["l"],"contacts":[{"email":"a@example.com"}]}',
      ],
      'contacts.delete': [{ contactIds: 'a,b' }, 'DELETE /marketing/contacts?ids=a,b'],
      'lists.list': [{ limit: 5 }, 'GET /marketing/lists?page_size=5'],
      'lists.get': [{ resourceId: 'l' }, 'GET /marketing/lists/l'],
      'lists.create': [{ params: { name: 'n' } }, 'POST /marketing/lists', '{"name":"n"}'],
      'lists.update': [{ resourceId: 'l', params: { name: 'n' } }, 'PATCH /marketing/lists/l', '{"name":"n"}'],
      'lists.delete': [{ resourceId: 'l' }, 'DELETE /marketing/lists/l'],
      ...sendgrid('suppressions', '/suppression/bounces'),
      ...sendgrid('blocks', '/suppression/blocks'),
      ...sendgrid('invalidEmails', '/suppression/invalid_emails'),
      ...sendgrid('spamReports', '/suppression/spam_reports'),
      'unsubscribes.list': [{ limit: 3 }, 'GET /suppression/unsubscribes?offset=0&limit=3'],
    },
  },

  slack: {
    headers: { authorization: 'Bearer xoxb-token' },
    contentType: JSON_TYPE,
    probe: '/auth.test',
    calls: {
      'channels.list': [
        { types: 'public_channel,private_channel', limit: 5 },
        'GET /conversations.list?types=public_channel,private_channel&limit=5',
      ],
      'channels.info': [{ channelId: 'C1' }, 'GET /conversations.info?channel=C1'],
      'channels.members': [{ channelId: 'C1' }, 'GET /conversations.members?channel=C1&limit=100'],
      'channels.create': [
        { name: 'general', isPrivate: true },
        'POST /conversations.create',
        '{"name":"general","is_private":true}',
      ],
      'channels.invite': [
        { channelId: 'C1', userIds: 'U1,U2' },
        'POST /conversations.invite',
        '{"channel":"C1","users":"U1,U2"}',
      ],
      'channels.join': [{ channelId: 'C1' }, 'POST /conversations.join', '{"channel":"C1"}'],
      'channels.archive': [{ channelId: 'C1' }, 'POST /conversations.archive', '{"channel":"C1"}'],
      'users.list': [{ limit: 500 }, 'GET /users.list?limit=200'],
      'users.info': [{ userId: 'U1' }, 'GET /users.info?user=U1'],
      'users.lookupByEmail': [{ email: 'a@example.com' }, 'GET /users.lookupByEmail?email=a@example.com'],
      'messages.post': [
        { channelId: 'C1', message: 'hi', threadTimestamp: '1.2', blocks: [{ type: 'divider' }] },
        'POST /chat.postMessage',
        '{"channel":"C1","text":"hi","blocks":[{"type":"divider"}],"thread_ts":"1.2"}',
      ],
      'messages.postEphemeral': [
        { channelId: 'C1', userId: 'U1', message: 'hi' },
        'POST /chat.postEphemeral',
        '{"channel":"C1","text":"hi","user":"U1"}',
      ],
      'messages.schedule': [
        { channelId: 'C1', message: 'hi', postAt: 1_800_000_000 },
        'POST /chat.scheduleMessage',
        '{"channel":"C1","text":"hi","post_at":1800000000}',
      ],
      'messages.update': [
        { channelId: 'C1', timestamp: '1.2', message: 'hi' },
        'POST /chat.update',
        '{"channel":"C1","text":"hi","ts":"1.2"}',
      ],
      'messages.delete': [{ channelId: 'C1', timestamp: '1.2' }, 'POST /chat.delete', '{"channel":"C1","ts":"1.2"}'],
      'messages.permalink': [{ channelId: 'C1', timestamp: '1.2' }, 'GET /chat.getPermalink?channel=C1&message_ts=1.2'],
      'conversations.history': [
        { channelId: 'C1', oldest: '1.0', latest: '2.0', limit: 3 },
        'GET /conversations.history?channel=C1&oldest=1.0&latest=2.0&limit=3',
      ],
      'conversations.replies': [
        { channelId: 'C1', threadTimestamp: '1.2', limit: 3 },
        'GET /conversations.replies?channel=C1&ts=1.2&limit=3',
      ],
      'conversations.open': [{ userIds: 'U1' }, 'POST /conversations.open', '{"users":"U1"}'],
      'reactions.add': [
        { channelId: 'C1', name: 'thumbsup', timestamp: '1.2' },
        'POST /reactions.add',
        '{"channel":"C1","name":"thumbsup","timestamp":"1.2"}',
      ],
      'reactions.remove': [
        { channelId: 'C1', name: 'thumbsup', timestamp: '1.2' },
        'POST /reactions.remove',
        '{"channel":"C1","name":"thumbsup","timestamp":"1.2"}',
      ],
    },
  },

  notion: {
    headers: { authorization: 'Bearer nt-token', 'notion-version': '2025-09-03' },
    contentType: JSON_TYPE,
    probe: '/users/me',
    calls: {
      'databases.retrieve': [{ databaseId: 'd' }, 'GET /databases/d'],
      'databases.query': [
        { databaseId: 'd', pageSize: 7 },
        'POST /databases/d/query',
        '{"page_size":7}',
        { 'notion-version': '2022-06-28' },
      ],
      'dataSources.retrieve': [{ dataSourceId: 's' }, 'GET /data_sources/s'],
      'dataSources.query': [
        { dataSourceId: 's', filter: { property: 'A' }, sorts: [{ property: 'A' }], pageSize: 7 },
        'POST /data_sources/s/query',
        '{"filter":{"property":"A"},"sorts":[{"property":"A"}],"page_size":7}',
      ],
      'pages.retrieve': [{ pageId: 'p' }, 'GET /pages/p'],
      'pages.create': [
        { page: { parent: { page_id: 'p' }, properties: {} } },
        'POST /pages',
        '{"parent":{"page_id":"p"},"properties":{}}',
      ],
      'pages.update': [{ pageId: 'p', page: { in_trash: true } }, 'PATCH /pages/p', '{"in_trash":true}'],
      'blocks.retrieve': [{ pageId: 'b' }, 'GET /blocks/b'],
      'blocks.list': [{ pageId: 'b', pageSize: 7 }, 'GET /blocks/b/children?page_size=7'],
      'blocks.append': [
        { pageId: 'b', children: [{ divider: {} }] },
        'PATCH /blocks/b/children',
        '{"children":[{"divider":{}}]}',
      ],
      'blocks.update': [{ pageId: 'b', page: { in_trash: false } }, 'PATCH /blocks/b', '{"in_trash":false}'],
      'blocks.delete': [{ pageId: 'b' }, 'DELETE /blocks/b'],
      'comments.list': [{ pageId: 'b' }, 'GET /comments?block_id=b&page_size=100'],
      'comments.create': [{ page: { parent: { page_id: 'p' } } }, 'POST /comments', '{"parent":{"page_id":"p"}}'],
      'users.list': [{}, 'GET /users?page_size=100'],
      'users.retrieve': [{ userId: 'u' }, 'GET /users/u'],
      'search.query': [
        { searchQuery: 'x', filter: { property: 'object', value: 'page' } },
        'POST /search',
        '{"query":"x","filter":{"property":"object","value":"page"},"page_size":100}',
      ],
    },
  },

  jira: {
    headers: { authorization: basic('a@example.com:jr-token') },
    contentType: JSON_TYPE,
    probe: '/api/3/myself',
    calls: {
      'issues.search': [
        { jql: 'a = "b"', maxResults: 4 },
        'GET /api/3/search/jql?fields=*all&jql=a+=+"b"&maxResults=4',
      ],
      'issues.get': [{ issueKey: 'K-1' }, 'GET /api/3/issue/K-1'],
      'issues.create': [{ fields: { summary: 's' } }, 'POST /api/3/issue', '{"fields":{"summary":"s"}}'],
      'issues.update': [{ issueKey: 'K-1', fields: { a: 1 } }, 'PUT /api/3/issue/K-1', '{"fields":{"a":1}}'],
      'issues.delete': [{ issueKey: 'K-1' }, 'DELETE /api/3/issue/K-1'],
      'issues.assign': [{ issueKey: 'K-1', accountId: '5b1' }, 'PUT /api/3/issue/K-1/assignee', '{"accountId":"5b1"}'],
      'transitions.search': [{ issueKey: 'K-1' }, 'GET /api/3/issue/K-1/transitions'],
      'transitions.create': [
        { issueKey: 'K-1', transitionId: '31' },
        'POST /api/3/issue/K-1/transitions',
        '{"transition":{"id":"31"}}',
      ],
      'comments.search': [{ issueKey: 'K-1' }, 'GET /api/3/issue/K-1/comment?startAt=0&maxResults=50'],
      'comments.create': [{ issueKey: 'K-1', comment: 'hi' }, 'POST /api/2/issue/K-1/comment', '{"body":"hi"}'],
      'projects.search': [{ maxResults: 4, startAt: 8 }, 'GET /api/3/project/search?startAt=8&maxResults=4'],
      'projects.get': [{ projectKey: 'P' }, 'GET /api/3/project/P'],
      'users.search': [{ maxResults: 4 }, 'GET /api/3/users/search?startAt=0&maxResults=4'],
      'users.get': [{ accountId: '5b1' }, 'GET /api/3/user?accountId=5b1'],
      'boards.search': [{ maxResults: 4 }, 'GET /agile/1.0/board?startAt=0&maxResults=4'],
      'boards.get': [{ boardId: '7' }, 'GET /agile/1.0/board/7'],
      'boards.issues': [{ boardId: '7' }, 'GET /agile/1.0/board/7/issue?startAt=0&maxResults=50'],
      'sprints.search': [{ boardId: '7' }, 'GET /agile/1.0/board/7/sprint?startAt=0&maxResults=50'],
      'sprints.get': [{ sprintId: '9' }, 'GET /agile/1.0/sprint/9'],
      'sprints.issues': [{ sprintId: '9' }, 'GET /agile/1.0/sprint/9/issue?startAt=0&maxResults=50'],
    },
  },
};

/** Stripe describes its things in one form: lists, one, and steps that are POSTs below one. */
function stripe(resource: string, path: string, more: readonly string[]): Record<string, Expected> {
  const params = { amount: 5, metadata: { a: 'b&c' }, items: [{ price: 'p' }] };
  const body = 'amount=5&metadata%5Ba%5D=b%26c&items%5B0%5D%5Bprice%5D=p';
  const calls: Record<string, Expected> = {
    list: [
      { limit: 3, startingAfter: 'x', expand: ['data.y', 'data.z'], params: { status: 'open', created: { gte: 1 } } },
      `GET ${path}?starting_after=x&expand[]=data.y&expand[]=data.z&status=open&created[gte]=1&limit=3`,
    ],
    retrieve: [{ resourceId: 'x', expand: ['y'] }, `GET ${path}/x?expand[]=y`],
    create: [{ params }, `POST ${path}`, body],
    update: [{ resourceId: 'x', params }, `POST ${path}/x`, body],
  };
  for (const name of more)
    calls[name] =
      name === 'search'
        ? [{ searchQuery: "email:'a'", limit: 3 }, `GET ${path}/search?query=email:'a'&limit=3`]
        : [{ resourceId: 'x', params: { a: 1 } }, `POST ${path}/x/${name}`, 'a=1'];
  return named(resource, calls);
}

function twilio(resource: string, path: string): Record<string, Expected> {
  return named(resource, {
    list: [
      { params: { To: '+1', 'DateSent>': '2026-01-01' }, limit: 3 },
      `GET ${path}.json?To=+1&DateSent>=2026-01-01&PageSize=3`,
    ],
    fetch: [{ resourceSid: 'SM1' }, `GET ${path}/SM1.json`],
    create: [{ params: { FriendlyName: 'a b' } }, `POST ${path}.json`, 'FriendlyName=a+b'],
    update: [{ resourceSid: 'SM1', params: { Status: 'canceled' } }, `POST ${path}/SM1.json`, 'Status=canceled'],
    delete: [{ resourceSid: 'SM1' }, `DELETE ${path}/SM1.json`],
  });
}

function sendgrid(resource: string, path: string): Record<string, Expected> {
  return named(resource, {
    list: [{ params: { start_time: 1 }, limit: 3 }, `GET ${path}?start_time=1&offset=0&limit=3`],
    get: [{ email: 'a@example.com' }, `GET ${path}/a@example.com`],
    delete: [{ email: 'a@example.com' }, `DELETE ${path}/a@example.com`],
  });
}

function named(resource: string, calls: Readonly<Record<string, Expected>>): Record<string, Expected> {
  return Object.fromEntries(Object.entries(calls).map(([operation, call]) => [`${resource}.${operation}`, call]));
}

function without(calls: Readonly<Record<string, Expected>>, names: readonly string[]): Record<string, Expected> {
  return Object.fromEntries(Object.entries(calls).filter(([name]) => !names.includes(name)));
}
