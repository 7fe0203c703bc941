/**
 * Sends the first request of a view while the browser still loads the view's code. This is a separate script that
 * imports nothing at run time; the document's head runs it first.
 */
import { askEarly } from './api/early.ts';
import { firstQuestion } from './state/first-question.ts';
import { placeOf } from './state/place.ts';

const question = firstQuestion(placeOf(location));
if (question !== undefined) askEarly(question);
