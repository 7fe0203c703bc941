/**
 * Asks for what the first view needs while the browser still loads that view's code. A script of its own, which imports
 * nothing at run time: the document's head runs it first.
 */
import { askEarly } from './api/early.ts';
import { firstQuestion } from './state/first-question.ts';
import { placeOf } from './state/place.ts';

const question = firstQuestion(placeOf(location));
if (question !== undefined) askEarly(question);
