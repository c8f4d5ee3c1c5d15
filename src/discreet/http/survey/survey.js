// A survey in the browser: answers are randomized here, and only reports are stored, shown and sent.
//
// Promise  Before anything is asked, and again before anything is drawn, the page computes the highest belief
//          that the survey's distributions allow, in whole numbers and without trusting the server. If it exceeds
//          the promise, the survey is refused: nothing is drawn or sent.
// Law      The report to a question is a set of `size` answers. It contains the respondent's own answer with
//          probability threshold / 2^64; the rest of it is drawn uniformly among all other answers.
//          Both draws compare whole numbers, so the law that is sampled is the law that is promised.
// Coins    come from crypto.getRandomValues only.
// Once     Reports are drawn once and stored in this browser before they are sent. Sending again sends the same.
//          Respondents cannot see their reports before they send them, since that choice would reveal something.

const WORDS = 2 ** 32;
const WHOLE = 2n ** 64n;
const PRECISION = 10n ** 40n;
const MOST_VALUES = 64;

class BrokenPromise extends Error {}

function require(holds, sentence) {
  if (!holds) throw new BrokenPromise(sentence);
}

// A decimal such as "0.05" as a fraction of whole numbers, strictly between 0 and 1.
function fraction(text) {
  require(/^0\.[0-9]{1,400}$/.test(text), "The promise is not one.");
  const digits = text.slice(2);
  const part = { over: BigInt(digits), under: 10n ** BigInt(digits.length) };
  require(part.over > 0n, "The promise is not one.");
  return part;
}

// The law of a question: gamma is how much likelier the report of one answer can be than that of another.
export function lawOf(question) {
  const { values, size, threshold } = question ?? {};
  const many = Array.isArray(values) && values.length >= 2 && values.length <= MOST_VALUES;
  require(many && values.every((value) => typeof value === "string"), "A question has no answers to choose from.");
  require(Number.isInteger(size) && size >= 1 && size < values.length, "A report would hold no answer, or all.");
  require(typeof threshold === "string" && /^[0-9]{1,20}$/.test(threshold), "A probability is not one.");
  const own = BigInt(threshold);
  require(own > 0n && own < WHOLE, "An answer would be sent as it is.");
  const odds = { over: own * BigInt(values.length - size), under: (WHOLE - own) * BigInt(size) };
  const gamma = odds.over >= odds.under ? odds : { over: odds.under, under: odds.over };
  return Object.freeze({ values, size, own, gamma });
}

// The highest belief that a prior can become by a factor of gamma, as a fraction.
function highest(prior, gamma) {
  const over = prior.over * gamma.over;
  return { over, under: over + (prior.under - prior.over) * gamma.under };
}

// The highest posterior that all distributions together allow; refused if it exceeds the promise, up to rounding.
export function requirePromise(survey) {
  const [prior, posterior] = [fraction(survey.promise?.prior), fraction(survey.promise?.posterior)];
  require(Array.isArray(survey.questions) && survey.questions.length > 0, "There are no questions.");
  const laws = survey.questions.map(lawOf);
  const all = laws.reduce(
    (sofar, { gamma }) => ({ over: sofar.over * gamma.over, under: sofar.under * gamma.under }),
    { over: 1n, under: 1n },
  );
  const reached = highest(prior, all);
  const most = { over: posterior.over * (10n ** 9n + 1n), under: posterior.under * 10n ** 9n };
  require(
    reached.over * most.under <= most.over * reached.under,
    `A claim could go from ${percent(prior)} to ${percentUp(reached)}, beyond the ${percent(posterior)} that is promised.`,
  );
  return { laws, prior: percent(prior), reached: percentUp(reached), alone: laws.map(({ gamma }) => percentUp(highest(prior, gamma))) };
}

const decimal = ({ over, under }) => Number((over * PRECISION) / under) / Number(PRECISION);

function percent(part) {
  const p = decimal(part);
  return p < 1e-5 ? `1 in ${Math.round(1 / p).toLocaleString("en")}` : `${Number((100 * p).toPrecision(12))}%`;
}

// Three digits, rounded so that what is said to be at most this much is.
function percentUp(part) {
  const p = decimal(part);
  if (p >= 1) return "100%";
  if (p < 1e-5) return `1 in ${Math.floor(1 / p).toLocaleString("en")}`;
  const near = p > 0.9 ? 1 - p : p;
  const step = 10 ** (Math.floor(Math.log10(near)) - (p > 0.9 ? 1 : 2));
  const rounded = p > 0.9 ? 1 - Math.floor(near / step + 1e-6) * step : Math.ceil(p / step - 1e-6) * step;
  return `${Number((100 * rounded).toPrecision(12))}%`;
}

// A probability of a law, to three digits.
function chance(over, under) {
  return `${Number((100 * decimal({ over, under })).toPrecision(3))}%`;
}

function word64() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}

// Uniform in 0 .. bound - 1. The words that are refused are those that would favour some of them.
export function below(bound) {
  const refused = WORDS % bound;
  let word;
  do {
    word = crypto.getRandomValues(new Uint32Array(1))[0];
  } while (word < refused);
  return word % bound;
}

export function draw(question, answer) {
  const law = lawOf(question);
  const own = word64() < law.own;
  const others = [...law.values.keys()].filter((code) => code !== answer);
  const wanted = own ? law.size - 1 : law.size;
  for (let i = 0; i < wanted; i++) {
    const j = i + below(others.length - i);
    [others[i], others[j]] = [others[j], others[i]];
  }
  const report = others.slice(0, wanted);
  return (own ? [...report, answer] : report).sort((a, b) => a - b);
}

function newTicket() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const find = (id) => document.getElementById(id);

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function kept(survey) {
  try {
    return JSON.parse(localStorage.getItem(`discreet ${survey.id}`));
  } catch {
    return null;
  }
}

function keep(survey, message) {
  try {
    localStorage.setItem(`discreet ${survey.id}`, JSON.stringify(message));
    return true;
  } catch {
    return false;
  }
}

function ask(survey, { prior, reached }) {
  survey.questions.forEach((question, place) => {
    const choices = question.values.map((value, code) => {
      const input = element("input", { type: "radio", name: `q${place}`, value: code, required: "" });
      return element("label", { class: "choice" }, input, element("span", {}, value));
    });
    const legend = element("legend", {}, question.text);
    find("questions").append(element("fieldset", { class: "card" }, legend, ...choices));
  });
  find("promise").textContent =
    "Your answers stay in this browser. Randomized reports are sent instead, which reveal little about them: an " +
    `attacker who was at most ${prior} sure of a claim about your answers can be at most ${reached} sure after ` +
    "everything that this page sends.";
  find("promise").hidden = find("form").hidden = false;
}

function drawAll(survey) {
  requirePromise(survey); // of the laws that are drawn from next, whatever was said before
  const form = find("form");
  const answers = survey.questions.map((_, place) => Number(new FormData(form).get(`q${place}`)));
  const reports = survey.questions.map((question, place) => draw(question, answers[place]));
  return { survey: survey.id, ticket: newTicket(), reports };
}

function show(survey, message) {
  const { laws, prior, reached, alone } = requirePromise(survey);
  const cards = survey.questions.map((question, place) => {
    const chips = question.values.map((value, code) => {
      const isSent = message.reports[place].includes(code);
      const mark = isSent ? [element("span", { class: "hidden" }, "sent: ")] : [];
      return element("li", { class: isSent ? "sent" : "unsent" }, ...mark, value);
    });
    const { own, size } = laws[place];
    const other = [WHOLE * BigInt(size) - own, WHOLE * BigInt(question.values.length - 1)];
    const explained =
      `Your own answer is among the marked ones with a probability of ${chance(own, WHOLE)}, any other answer with ` +
      `${chance(...other)}. From this report alone, an attacker who was at most ${prior} sure of a claim about ` +
      `this answer can be at most ${alone[place]} sure.`;
    const parts = [element("h3", {}, question.text), element("ul", { class: "chips" }, ...chips)];
    return element("div", { class: "card" }, ...parts, element("p", { class: "small" }, explained));
  });
  find("reports").replaceChildren(...cards);
  find("revealed").textContent =
    `All reports together: an attacker who was at most ${prior} sure of a claim about you can now be at most ${reached} sure.`;
  find("promise").hidden = true;
  find("sent").hidden = false;
  find("sent").focus();
}

async function send(message, note) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message) };
  let said = "The server could not be reached. Send the same again later: nothing is drawn anew.";
  try {
    const response = await fetch("reports", { ...options, credentials: "omit", referrerPolicy: "no-referrer" });
    said = response.ok ? `The server keeps these reports, and nothing else.${note}` : (await response.json()).error;
  } catch {
    // `said` already says that the server could not be reached
  }
  find("state").textContent = said;
}

// Say why nothing is asked, and leave no way to send.
function refuse(error) {
  find("form")?.remove();
  find("promise").hidden = find("sent").hidden = true;
  const broken = error instanceof BrokenPromise;
  find("waiting").setAttribute("role", "alert");
  find("waiting").hidden = false;
  find("waiting").textContent = broken
    ? `This survey would break its promise, so nothing is asked and nothing is sent. ${error.message} Tell whoever asked you to take part.`
    : "The survey could not be read. Open this page again later.";
}

async function start() {
  const survey = await (await fetch("survey.json", { credentials: "omit" })).json();
  const promised = requirePromise(survey);
  find("waiting").hidden = true;
  document.title = find("title").textContent = survey.title;
  find("intro").textContent = survey.intro;
  find("intro").hidden = !survey.intro;
  let message = kept(survey);
  find("again").addEventListener("click", () => send(message, ""));
  if (message !== null) {
    find("form").remove();
    show(survey, message);
    find("state").textContent = "This browser has drawn its reports already. They stay the same.";
    return;
  }
  ask(survey, promised);
  find("form").addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      message = kept(survey) ?? drawAll(survey); // another tab may have drawn meanwhile
    } catch (error) {
      refuse(error);
      return;
    }
    find("form").remove();
    const note = keep(survey, message) ? "" : " This browser keeps nothing: please do not answer a second time.";
    show(survey, message);
    send(message, note);
  });
}

start().catch(refuse);
