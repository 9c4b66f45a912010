/** The rest of console.test.ts: what workflows use, people and settings, and pages in trouble. */
import { appPageTests } from './browser/app-pages.ts';
import { assetTests } from './browser/assets.ts';
import { builderTests } from './browser/builder.ts';
import { builderPanelTests } from './browser/builder-panels.ts';
import { builtInSignInTests } from './browser/built-in-sign-in.ts';
import { chatTests } from './browser/chat.ts';
import { databaseTests } from './browser/database.ts';
import { fleetTests } from './browser/fleet.ts';
import { galleryTests } from './browser/gallery.ts';
import { hostileTests } from './browser/hostile.ts';
import { largeTests } from './browser/large.ts';
import { listenerTests } from './browser/listeners.ts';
import { madePageTests } from './browser/made-pages.ts';
import { onStage } from './browser/on-stage.ts';
import { pageViewerTests } from './browser/page-viewers.ts';
import { peopleTests } from './browser/people.ts';
import { settingsTests } from './browser/settings.ts';
import { signInTests } from './browser/sign-in.ts';
import { troubleTests } from './browser/trouble.ts';

await onStage('console-assets', {
  'queries and cron jobs': assetTests,
  'app pages': appPageTests,
  'made pages': madePageTests,
  'the builder of pages': builderTests,
  'panels of the builder': builderPanelTests,
  'viewers of app pages': pageViewerTests,
  'all widgets': galleryTests,
  listeners: listenerTests,
  'the fleet': fleetTests,
  'the database': databaseTests,
  'large ones': largeTests,
  people: peopleTests,
  settings: settingsTests,
  'in trouble': troubleTests,
  'hostile data': hostileTests,
  useChat: chatTests,
  // The last, because the database then belongs to an identity provider, and no API starts on it without that.
  'signing in': signInTests,
  'signing in at the service itself': builtInSignInTests,
});
