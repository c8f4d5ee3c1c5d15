"""Words in column names that suggest a role, in the languages of the files that we are given.

English, German, French, Spanish, Italian, Dutch, Portuguese and Polish. Words are written without accents, as
`column_roles` folds a name before it compares: é is e, ß is ss, ł is l. A word of six letters or more also
matches inside a longer word (Telefonnummer), so no word here is part of an ordinary one. Short words that are
ordinary ones in another language are left out: Italian `via` (a street), French `portable` (a telephone).
"""

# Each is matched by itself: the column is a direct identifier, or free text that may contain one.
IDENTIFIERS = """
    ssn nin nino passport email mail phone mobile telephone tel fax address addr street mrn iban bic card
    account acct beneficiary licence license certificate vin plate vehicle device imei serial url
    website ip mac fingerprint biometric photo image portrait signature username login nickname
    firstname lastname surname fullname forename givenname familyname maidenname nhs tin cookie
    note notes comment comments remark remarks freetext

    telefon telefonnr telefonnummer handy handynummer mobilfunk mobil anschrift adresse strasse hausnummer
    konto kontonummer kreditkarte steuerid steuernummer personalausweis ausweisnummer reisepass
    sozialversicherung
    rentenversicherung versichertennummer krankenkassennummer kvnr ahv kennzeichen fahrgestellnummer
    fallnummer fallnr aktenzeichen
    vorname vornamen nachname nachnamen familienname zuname rufname geburtsname benutzername unterschrift
    bemerkung bemerkungen kommentar kommentare notiz notizen freitext anmerkung anmerkungen

    courriel telephonique adresse compte passeport prenom prenoms nomfamille nomdefamille nomnaissance
    insee nir
    securitesociale numerosecu numsecu carteidentite immatriculation remarque remarques commentaire
    commentaires
    observations textelibre

    correo correoelectronico telefono movil celular direccion domicilio calle cuenta tarjeta pasaporte
    dni nie nif
    seguridadsocial nuss apellido apellidos nombrecompleto primernombre matricula comentario comentarios
    observacion observaciones textolibre

    telefonino cellulare indirizzo codicefiscale cartaidentita passaporto cognome conto targa commento
    commenti
    osservazione osservazioni annotazione annotazioni testolibero tesserasanitaria

    telefoon telefoonnummer mobielnummer adres straat huisnummer rekening rekeningnummer bsn
    burgerservicenummer rijksregisternummer paspoort voornaam voornamen achternaam familienaam kenteken
    opmerking
    opmerkingen toelichting vrijetekst

    telefone telemovel endereco morada conta cartao passaporte cpf apelido apelidos sobrenome primeironome
    nomecompleto cartaocidadao comentarios observacao observacoes textolivre

    telefonu komorka adresu ulica pesel nip dowod dowodosobisty paszport imie imiona nazwisko nazwiska
    rejestracyjny komentarz uwagi uwaga notatka notatki
"""
SENSITIVE = """
    disease diagnosis diagnose diagnoses icd illness condition symptom hiv aids cancer medication drug
    treatment therapy procedure lab mental disability pregnancy pregnant blood genetic genome income salary
    wage wages earnings pay debt credit loan balance religion religious belief sexual orientation
    political party vote union criminal conviction offence offense arrest occupation grade score rating

    krankheit befund medikament behandlung therapie einkommen gehalt beruf
    maladie diagnostic medicament traitement revenu salaire
    enfermedad diagnostico medicamento tratamiento ingresos salario
    malattia diagnosi farmaco reddito stipendio
    ziekte medicijn behandeling inkomen salaris
    doenca tratamento rendimento
    choroba diagnoza leczenie dochod wynagrodzenie
"""
QUASI = """
    zip zipcode postcode postal plz birth birthday birthdate birthyear dob born age sex gender race
    ethnicity
    ethnic nationality citizenship native country city town village county district region state province
    place location latitude longitude lat lon lng marital married family household children education degree
    school workclass employer job language admission admitted discharge discharged death died deathdate
    relationship hispanic veteran

    postleitzahl geburt geburtstag geburtsdatum geburtsjahr geschlecht staatsangehoerigkeit
    familienstand wohnort alter lebensalter edad eta leeftijd idade wiek
    ort gemeinde landkreis bundesland aufnahmedatum entlassungsdatum sterbedatum
    codepostal naissance datenaissance anneenaissance sexe nationalite commune ville departement deces
    codigopostal nacimiento fechanacimiento sexo nacionalidad municipio ciudad provincia
    nascita datanascita sesso cittadinanza comune
    geboorte geboortedatum geboortejaar geslacht nationaliteit gemeente woonplaats
    nascimento datanascimento nacionalidade concelho cidade
    urodzenia dataurodzenia plec obywatelstwo kodpocztowy miasto gmina wojewodztwo
"""
WEAK_IDENTIFIERS = "name id uuid guid key nom nombre nome naam nazwa kennung"
"""Identifiers only if no other word matches: disease_name is not a person's name."""

PEOPLE = """
    person patient user customer client member employee subject participant student respondent citizen
    people
    individual pupil worker donor voter
    pat patienten kunde kunden versicherte versicherten mitglied mitglieds mitarbeiter schueler teilnehmer
    proband
    probanden benutzer personen personal
    usager assure eleve etudiant salarie adherent personne
    paciente cliente usuario empleado alumno socio persona
    paziente utente dipendente studente
    klant gebruiker medewerker persoon
    utilizador funcionario aluno pessoa
    pacjent pacjenta klient klienta uzytkownik uzytkownika pracownik pracownika osoba osoby
"""
NUMBERS = "id no nr num number nummer numero numer kennung code cod"
PERSON_NUMBERS = (["mrn"], ["ssn"], ["nhs"], ["pesel"], ["bsn"], ["dni"], ["kvnr"])
CODES = "sex gender race ethnicity ethnic nationality religion zip zipcode postcode plz marital married icd"
MASKABLE_CODES = "zip zipcode postcode postal plz icd postleitzahl codepostal codigopostal kodpocztowy"
