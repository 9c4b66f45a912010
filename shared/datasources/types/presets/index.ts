import { airtable } from './airtable.ts';
import { jira } from './jira.ts';
import { notion } from './notion.ts';
import { sendgrid } from './sendgrid.ts';
import { slack } from './slack.ts';
import { stripe } from './stripe.ts';
import { twilio } from './twilio.ts';

/** APIs described as data; one connector calls all of them. */
export const presets = [airtable, stripe, twilio, sendgrid, slack, notion, jira] as const;
